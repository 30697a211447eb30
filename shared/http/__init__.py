"""ASGI and response helpers of both servers."""
