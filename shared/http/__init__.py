"""ASGI and response helpers of both servers.

- ``app_setup``: configures the app of either server, CORS.
- ``request_context``: request ids, log fields, response and security headers.
- ``problems``: errors as RFC 9457 responses.
- ``body``: reads a request's body within its limits and the budget of all bodies.
- ``disconnect``: ends work when its client hangs up.
- ``event_stream``: responses that stream events.
- ``docs_page``: the page ``/docs``, with the files of Swagger UI.
- ``openapi``: documentation that both servers share.
- ``probes``: ``/livez`` and ``/metrics``.
"""
