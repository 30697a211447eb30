"""Middleware that refuses other origins' requests, and answers allowed ones (CORS)."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shared.http.origin_policy import ANY_ORIGIN, OriginPolicy, shown
from shared.http.problems import error_response
from shared.http.request_context import add_response_headers, request_header, route_path
from shared.protocol.deadline import TIMEOUT_HEADER
from shared.protocol.errors import OriginRefusedError
from shared.protocol.headers import REQUEST_ID_HEADER
from shared.protocol.priority import PRIORITY_HEADER

# Headers that pages may send. Browsers allow the first three anyway.
_REQUEST_HEADERS: Final = (
    "Accept",
    "Accept-Language",
    "Content-Language",
    "Authorization",
    "Content-Type",
    REQUEST_ID_HEADER,
    TIMEOUT_HEADER,
    PRIORITY_HEADER,
)
_REQUEST_HEADER_NAMES: Final = frozenset(name.lower() for name in _REQUEST_HEADERS)
# Headers of both servers that pages may read.
_RESPONSE_HEADERS: Final = (REQUEST_ID_HEADER, "Retry-After")
_MAX_AGE_SECONDS: Final = 600
# RFC 6455, section 7.4.1.
_POLICY_VIOLATION: Final = 1008
_PREFLIGHT_METHOD: Final = "access-control-request-method"
_PREFLIGHT_HEADERS: Final = "access-control-request-headers"
_PRIVATE_NETWORK: Final = "access-control-request-private-network"


class OriginGuard:
    """ASGI middleware for the requests of web pages, below ``RequestContext``.

    It takes the place of Starlette's CORS middleware, whose refusals carry CORS headers and reach the app.
    """

    def __init__(self, app: ASGIApp, policy: OriginPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, answer or refuse one request, or one upgrade to WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        policy = self._policy
        refusal = policy.refusal(scope.get("method", "GET"), route_path(scope), scope["state"]["headers"])
        if (
            scope["type"] == "websocket"
        ):  # browsers ask nobody before they send one, and show what comes back to its page
            await (self._app(scope, receive, send) if refusal is None else _refuse_upgrade(scope, receive, send))
            return
        request = Request(scope, receive)
        origin = request_header(request, "origin")
        if refusal is not None:
            fields = {} if origin is None else {"origin": shown(origin)}
            response = error_response(request, OriginRefusedError(refusal, log_fields=fields))
            await response(scope, receive, send)
        elif origin is None or not policy.allows(origin):
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and request_header(request, _PREFLIGHT_METHOD) is not None:
            await self._preflight_response(request, origin)(scope, receive, send)
        else:
            exposed = {"Access-Control-Expose-Headers": ", ".join(_RESPONSE_HEADERS + policy.exposed_headers)}
            add_response_headers(request, self._origin_headers(origin) | exposed)
            await self._app(scope, receive, send)

    def _origin_headers(self, origin: str) -> dict[str, str]:
        if self._policy.allows_any:
            return {"Access-Control-Allow-Origin": ANY_ORIGIN}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

    def _preflight_response(self, request: Request, origin: str) -> Response:
        """Answer a browser that asks before it sends an allowed page's request."""
        methods = self._policy.methods(route_path(request.scope))
        method = request_header(request, _PREFLIGHT_METHOD)
        if method not in methods:
            detail = f"Pages of other origins may use {', '.join(methods)} here, not {shown(method or '')}."
            return error_response(request, OriginRefusedError(detail))
        names = (request_header(request, _PREFLIGHT_HEADERS) or "").split(",")
        unknown = [name.strip() for name in names if name.strip() and name.strip().lower() not in _REQUEST_HEADER_NAMES]
        if unknown:
            detail = f"Pages may send the headers {', '.join(_REQUEST_HEADERS)}, not {shown(', '.join(unknown))}."
            return error_response(request, OriginRefusedError(detail))
        headers = self._origin_headers(origin) | {
            "Access-Control-Allow-Methods": ", ".join(methods),
            "Access-Control-Allow-Headers": ", ".join(_REQUEST_HEADERS),
            "Access-Control-Max-Age": str(_MAX_AGE_SECONDS),
        }
        if request_header(request, _PRIVATE_NETWORK) == "true":
            headers["Access-Control-Allow-Private-Network"] = "true"
        return Response(status_code=200, headers=headers)


async def _refuse_upgrade(scope: Scope, receive: Receive, send: Send) -> None:
    """Close a WebSocket before it opens; servers answer 403."""
    scope["state"]["log_fields"]["code"] = OriginRefusedError.code
    await receive()
    await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
