"""The HTTP client for replicas, and the meaning of their responses.

- ``client``: translations and probes.
- ``http_client``: HTTP/1.1: endpoints, exchanges, connections.
- ``answer_parser``: parses the answers on one connection.
- ``address``: a replica's host, port and headers.
- ``stream_reader``: reads streamed translations.
- ``response_classifier``: the meaning of a response for the client and for the replica.
- ``errors``: the exceptions.
"""
