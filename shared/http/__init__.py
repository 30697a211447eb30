"""ASGI and response helpers of both servers.

- ``app_setup``: sets up either server's app.
- ``request_context``: request ids, log fields, headers.
- ``origin_policy``: which web pages may call a server.
- ``origin_guard``: refuses other pages, and answers preflights (CORS).
- ``problems``: errors as RFC 9457 responses.
- ``body``: request bodies within limits.
- ``disconnect``: cancels work when its client disconnects.
- ``event_stream``: responses that stream events.
- ``static_file``: files served from memory.
- ``openapi``: OpenAPI descriptions of both servers; the page ``/docs``.
- ``probes``: ``/livez`` and ``/metrics``.
"""
