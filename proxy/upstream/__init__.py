"""The HTTP client for replicas, and their responses' meaning.

- ``client``: translations and probes.
- ``http_client``: endpoints, exchanges, connections.
- ``answer_parser``: parses one connection's answers.
- ``address``: a replica's host, port, headers.
- ``stream_reader``: reads streamed translations.
- ``response_classifier``: meaning of responses.
- ``errors``: the exceptions.
"""
