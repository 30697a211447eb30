"""The HTTP client for replicas and what their responses mean.

- ``client``: the HTTP client: translations and probes.
- ``response``: a replica's response.
- ``stream_reader``: reads streamed translations.
- ``response_classifier``: what a response means for the client and for the replica.
- ``errors``: the client's exceptions.
"""
