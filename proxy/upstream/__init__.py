"""The HTTP client for replicas and what their responses mean.

- ``client``: the client for replicas: translations and probes.
- ``http_client``: HTTP/1.1: endpoints, exchanges, connections.
- ``answer_parser``: parses the answers on one connection.
- ``address``: where a replica listens, and headers for it.
- ``stream_reader``: reads streamed translations.
- ``response_classifier``: a response, and what it means for the client and for the replica.
- ``errors``: the client's exceptions.
"""
