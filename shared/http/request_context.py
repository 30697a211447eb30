"""Request ids, log fields and response headers: what every request of both servers has."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.http.security_headers import security_headers_for
from shared.protocol import bearer_token
from shared.protocol.headers import REQUEST_ID_HEADER
from shared.runtime.logging import request_id

log = logging.getLogger(__name__)

# What a client may choose as its id: safe in logs and headers, long enough for two UUIDs and a separator.
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:\-]{1,128}")
# As many as a UUID has.
_ID_BYTES: Final = 16
_HEADER: Final = REQUEST_ID_HEADER.lower().encode()
# Paths that a dashboard or an orchestrator polls: their answers are not worth a log line each.
QUIET_PATHS: Final = frozenset({"/health", "/livez", "/readyz", "/metrics", "/report"})


class RequestContext:
    """ASGI middleware: takes or makes the request id, echoes it, puts it on every log line, logs the outcome."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        current_id = _request_id_of(scope)
        scope.setdefault("state", {})["request_id"] = current_id
        # Never reset: the server logs an unhandled error after us, and runs every request in a context of its own.
        request_id.set(current_id)
        started = time.perf_counter()
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", []), *scope["state"].get("headers", {}).items()]
                names = {name.lower() for name, _ in headers}
                message["headers"] = [
                    *headers,
                    *(header for header in security_headers_for(route_path(scope)) if header[0] not in names),
                    (_HEADER, current_id.encode()),
                ]
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            if route_path(scope) not in QUIET_PATHS or status == HTTPStatus.INTERNAL_SERVER_ERROR:
                fields: dict[str, Any] = {
                    "method": scope["method"],
                    "path": bearer_token.mask_secrets(scope["path"])[:128],
                    "status": status,
                    "ms": round((time.perf_counter() - started) * 1000, 1),
                    **scope["state"].get("log", {}),
                }
                log.info("request", extra=fields)


def add_log_fields(request: Request, **fields: object) -> None:
    """Add fields to the request's one log line (pair, replica, number of texts; never texts)."""
    request.scope["state"].setdefault("log", {}).update(fields)


def add_response_headers(request: Request, headers: Mapping[str, str]) -> None:
    """Add headers to the request's answer, whatever it will be."""
    encoded = {name.lower().encode("latin-1"): value.encode("latin-1") for name, value in headers.items()}
    request.scope["state"].setdefault("headers", {}).update(encoded)


def route_path(scope: Scope) -> str:
    """Return the path below the root path, whether or not the web server before us stripped it."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def _request_id_of(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == _HEADER and _REQUEST_ID.fullmatch(text := value.decode("latin-1")):
            return text
    return secrets.token_hex(_ID_BYTES)
