"""Setup of both servers' apps: error responses, request context, CORS, fast path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import cache

from fastapi import FastAPI, Request, Response
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from shared.http.openapi import add_docs_page
from shared.http.origin_guard import OriginGuard
from shared.http.origin_policy import OriginPolicy
from shared.http.problems import ErrorRenderer, JsonBytesResponse, error_response
from shared.http.request_context import SECURITY_HEADERS, RequestContext
from shared.protocol.errors import InternalError, MethodNotAllowedError, NotFoundError, PairwayError
from shared.protocol.headers import REQUEST_ID_HEADER, mask_secrets

Handler = Callable[[Request], Awaitable[Response]]


def configure_app(
    app: FastAPI,
    origin_policy: OriginPolicy | None = None,
    fast_handlers: Mapping[str, Handler] | None = None,
    find_renderer: Callable[[str], ErrorRenderer | None] | None = None,
    quiet_paths: Collection[str] = (),
) -> None:
    """Set up an app's errors, request ids, log lines, CORS and ``/docs``.

    ``origin_policy`` says which web pages may send requests; None: all. ``fast_handlers`` answer POSTs to their paths
    past FastAPI's layers (docs/decisions/0018-hot-path.md). ``find_renderer`` returns the renderer of errors at a path,
    if it is of an API with a format of its own. Requests to ``quiet_paths``, which somebody polls, are not logged.
    """
    app.state.find_renderer = find_renderer

    async def render(request: Request, error: Exception) -> Response:  # a plain function would need a thread
        match error:
            case PairwayError():
                return error_response(request, error)
            case HTTPException(status_code=404):
                missing = NotFoundError(f"The path {mask_secrets(request.url.path)} does not exist.")
                return error_response(request, missing)
            case HTTPException(status_code=405):
                allowed = ", ".join(sorted(_allowed_methods(request))) or "another method"
                detail = f"{mask_secrets(request.url.path)} accepts {allowed}, not {request.method}."
                response = error_response(request, MethodNotAllowedError(detail))
                response.headers["Allow"] = allowed
                return response
            case _:
                return _internal_error(request)

    add_docs_page(app)
    for kind in (PairwayError, HTTPException, Exception):
        app.add_exception_handler(kind, render)
    if origin_policy is not None:
        app.add_middleware(OriginGuard, policy=origin_policy)
    fast_apps = {path: _asgi_app(handler) for path, handler in (fast_handlers or {}).items()}
    app.add_middleware(RequestContext, fast_apps=fast_apps, quiet_paths=quiet_paths)
    _keep_openapi_document(app)


def _internal_error(request: Request) -> Response:
    """Return the response to an unexpected error, which passes no middleware."""
    response = error_response(request, InternalError("Something went wrong on our side."))
    response.headers[REQUEST_ID_HEADER] = request.scope["state"]["request_id"]
    response.raw_headers.extend([*SECURITY_HEADERS, *request.scope["state"]["answer_headers"].items()])
    return response


def _keep_openapi_document(app: FastAPI) -> None:
    """Render the OpenAPI document once; FastAPI takes 1.7 ms per request."""

    @cache
    def document() -> bytes:
        servers = {"servers": [{"url": app.root_path}]} if app.root_path else {}
        return to_json(servers | app.openapi())

    async def openapi(_: Request) -> Response:
        return JsonBytesResponse(document())

    path = app.openapi_url or ""
    app.router.routes = [
        Route(path, openapi, include_in_schema=False) if isinstance(route, Route) and route.path == path else route
        for route in app.router.routes
    ]


def _asgi_app(handler: Handler) -> ASGIApp:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            response = await handler(request)
            await response(scope, receive, send)
        except PairwayError as error:  # nothing was sent yet: a stream that has begun reports its errors itself
            await error_response(request, error)(scope, receive, send)

    return serve


def _allowed_methods(request: Request) -> set[str]:
    """Return all methods of the path; Starlette names its first route's."""
    methods: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return methods
