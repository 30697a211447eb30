"""Request ids, log fields, response headers and security headers of all requests."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.protocol.headers import REQUEST_ID_HEADER, mask_secrets
from shared.runtime.logging import log_request, request_id
from shared.runtime.turns import LoopTurns

log = logging.getLogger(__name__)

# Ids that a client may choose: safe in logs and headers, long enough for two UUIDs and a separator.
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:\-]{1,128}")
# The length of a UUID.
_ID_BYTES: Final = 16
_SLASHES: Final = re.compile("/{2,}")
_HEADER: Final = REQUEST_ID_HEADER.lower()
_ENCODED_HEADER: Final = _HEADER.encode()
# Request headers whose lines are parts of one list.
_LISTS: Final = frozenset({"accept", "cache-control", "content-encoding"})
_INTERNAL_SERVER_ERROR: Final = 500
# The least that a request takes of the event loop, so that 64 that arrive together do not begin in one turn.
REQUEST_SECONDS: Final = 0.0005
# Paths of both servers that dashboards and orchestrators poll; their responses are not logged, except 500.
_QUIET_PATHS: Final = frozenset({"/livez", "/readyz", "/startupz", "/metrics"})
# Of upgrades to WebSocket: granted, and closed before that, which servers answer so.
_UPGRADED: Final = 101
_REFUSED: Final = 403
_HEADS: Final = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})
# Stays an unknown path: links of the page /docs would lead elsewhere from there.
DOCS_FOLDER: Final = "/docs/"
# The page /docs loads scripts and styles only from this server, and images only from Swagger UI's style sheet.
SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
            b"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        ),
    ),
)


class RequestContext:
    """ASGI middleware for the request id, headers and the log line.

    The client's id or a new one is in the response and every log line. ``fast_apps`` replace the app for
    POSTs to their paths, except for requests of browsers, which the app's ``OriginGuard`` checks. Of ``quiet_paths`` only
    an error 500 is logged. Requests begin in turns of the event loop.
    """

    def __init__(self, app: ASGIApp, fast_apps: Mapping[str, ASGIApp], quiet_paths: Collection[str] = ()) -> None:
        self._app = app
        self._fast_apps = fast_apps
        self._quiet_paths = _QUIET_PATHS.union(quiet_paths)
        self._turns = LoopTurns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one upgrade to WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        method = scope.get("method", "GET")  # an upgrade is a GET
        headers = _headers_by_name(scope["headers"])
        current_id = headers.get(_HEADER, "")
        if not _REQUEST_ID.fullmatch(current_id):
            current_id = secrets.token_hex(_ID_BYTES)
        log_fields: dict[str, object] = {}
        answer_headers: dict[bytes, bytes] = {}
        state: dict[str, Any] = scope.setdefault("state", {})
        state |= {
            "request_id": current_id,
            "headers": headers,
            "log_fields": log_fields,
            "answer_headers": answer_headers,
        }
        # Never reset: the server logs unhandled errors later, and each request has its own context.
        request_id.set(current_id)
        scope["path"] = normal_path(scope["path"], scope.get("root_path", ""))
        path, started, status = route_path(scope), time.perf_counter(), _INTERNAL_SERVER_ERROR

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] in _HEADS:
                status = message.get("status", _UPGRADED)
                own_headers = [*message.get("headers", ()), *answer_headers.items()]
                names = {name for name, _ in own_headers}
                security_headers = [header for header in SECURITY_HEADERS if header[0] not in names]
                message["headers"] = [*own_headers, *security_headers, (_ENCODED_HEADER, current_id.encode())]
            elif message["type"] == "websocket.close" and status != _UPGRADED:
                status = _REFUSED
            await send(message)

        is_fast = method == "POST" and "origin" not in headers and "sec-fetch-site" not in headers
        fast_app = self._fast_apps.get(path) if is_fast else None
        try:
            await self._turns.take(REQUEST_SECONDS)
            await (fast_app or self._app)(scope, receive, send_with_headers)
        finally:
            if path not in self._quiet_paths or status == _INTERNAL_SERVER_ERROR:
                fields: dict[str, object] = {
                    "method": method,
                    "path": scope["path"] if fast_app is not None else mask_secrets(scope["path"])[:128],
                    "status": status,
                    "ms": round((time.perf_counter() - started) * 1000, 1),
                    **log_fields,
                    "request_id": current_id,
                }
                log_request(log, fields)


def request_header(request: Request, name: str) -> str | None:
    """Return the first header of this name; lists are joined."""
    return request.scope["state"]["headers"].get(name.lower())


def add_log_fields(request: Request, **fields: object) -> None:
    """Add fields to the request's log line (pair, replica; never texts)."""
    request.scope["state"]["log_fields"].update(fields)


def add_response_headers(request: Request, headers: Mapping[str, str]) -> None:
    """Add headers to the request's response, even to an error."""
    encoded = {name.lower().encode("latin-1"): value.encode("latin-1") for name, value in headers.items()}
    request.scope["state"]["answer_headers"].update(encoded)


def normal_path(path: str, root_path: str) -> str:
    """Return the path with single slashes and none at its end.

    Only the root keeps its slash. Clients append paths to base URLs that end with a slash.
    """
    if "//" in path or (path.endswith("/") and path != DOCS_FOLDER):
        path = _SLASHES.sub("/", path).rstrip("/")
    return f"{root_path}/" if path in ("", root_path) else path


def route_path(scope: Scope) -> str:
    """Return the path without the root path, which web servers may strip."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def _headers_by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    by_name: dict[str, str] = {}
    for encoded_name, encoded_value in headers:
        name, value = encoded_name.decode("latin-1"), encoded_value.decode("latin-1")
        if name not in by_name:
            by_name[name] = value
        elif name in _LISTS:
            by_name[name] += f", {value}"
    return by_name
