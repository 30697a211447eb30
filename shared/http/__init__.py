"""ASGI and response helpers of both servers.

- ``app_setup``: sets up the app of either server, CORS.
- ``request_context``: request ids, log fields, response and security headers.
- ``problems``: errors as RFC 9457 responses.
- ``body``: reads bodies within a limit for each and a budget for all.
- ``disconnect``: cancels work when its client disconnects.
- ``event_stream``: responses that stream events.
- ``docs_page``: the page ``/docs``, with the files of Swagger UI.
- ``openapi``: OpenAPI descriptions of both servers.
- ``probes``: ``/livez`` and ``/metrics``.
"""
