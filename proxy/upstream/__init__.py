"""The HTTP client for replicas, and their responses' meaning.

- ``client``: translations and probes.
- ``http_client``: addresses, endpoints, calls, connections and the parser of answers.
- ``stream_reader``: reads streamed translations.
- ``response_classifier``: meaning of responses; the exceptions.
"""
