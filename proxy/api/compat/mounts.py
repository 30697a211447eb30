"""Mounts: the compatible APIs' paths, under prefixes and at the root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fastapi import APIRouter, FastAPI, Request, Response

from proxy.api.compat import deeplx, immersive, kiss
from proxy.api.compat.compat_api import CompatApi, CompatRoute, Handler
from proxy.api.compat.deepl import api as deepl
from proxy.api.compat.libretranslate import routes as libretranslate
from shared.http.problems import ErrorRenderer, render_errors_with
from shared.http.request_context import route_path
from shared.protocol.errors import MethodNotAllowedError, NotFoundError
from shared.protocol.headers import mask_secrets

APIS: Final[tuple[CompatApi, ...]] = (libretranslate.API, deepl.API, deeplx.API, immersive.API, kiss.API)
_ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


def select(names: Sequence[str]) -> tuple[CompatApi, ...]:
    """Return the APIs with these names."""
    return tuple(api for api in APIS if api.name in names)


def fast_handlers(apis: Sequence[CompatApi]) -> dict[str, Handler]:
    """Return the handlers of POSTs that go past FastAPI's layers, by path."""
    handlers: dict[str, Handler] = {}
    for api in apis:
        for route in api.routes:
            if route.is_fast:
                handlers[_joined(api.prefix, route.path)] = _with_errors_of(api, route.handler)
                if route.at_root:
                    handlers[route.path] = _with_errors_of(api, route.handler)
    return handlers


def add_routes(app: FastAPI, apis: Sequence[CompatApi]) -> None:
    """Add the paths of these APIs to an app.

    Other paths under a prefix get the API's own 404 or 405.
    """
    for api in apis:
        routes = APIRouter(include_in_schema=False)
        for route in api.routes:
            handler, methods = _with_errors_of(api, route.handler), _served_methods(route)
            routes.add_api_route(_joined(api.prefix, route.path), handler, methods=methods)
            if route.at_root:
                routes.add_api_route(route.path, handler, methods=methods)
        refuse = _refuse_path(api)
        for path in {api.prefix, api.prefix + "/{path:path}"}:
            routes.add_api_route(path, refuse, methods=_ALL_METHODS)
        app.include_router(routes)


def find_renderer(apis: Sequence[CompatApi]) -> Callable[[str], ErrorRenderer | None]:
    """Return a function that finds the renderer of a path's errors.

    It returns None for native paths.
    """
    # A version such as /v2 is a whole API's.
    at_root: Mapping[str, ErrorRenderer] = {
        _first_segment(route.path): api.render_error for api in apis for route in api.routes if route.at_root
    }

    def find(path: str) -> ErrorRenderer | None:
        for api in apis:
            if path == api.prefix or path.startswith(f"{api.prefix}/"):
                return api.render_error
        return at_root.get(_first_segment(path))

    return find


def _served_methods(route: CompatRoute) -> list[str]:
    """Return a route's methods; HEAD is for monitors."""
    return [*route.methods, "HEAD"] if "GET" in route.methods else list(route.methods)


def _first_segment(path: str) -> str:
    return path[1:].partition("/")[0]


def _joined(prefix: str, path: str) -> str:
    return prefix if path == "/" else prefix + path


def _with_errors_of(api: CompatApi, handler: Handler) -> Handler:
    async def serve(request: Request) -> Response:
        render_errors_with(request, api.render_error)
        return await handler(request)

    return serve


def _refuse_path(api: CompatApi) -> Handler:
    async def refuse(request: Request) -> Response:
        path = route_path(request.scope)
        methods = {
            method
            for route in api.routes
            if _joined(api.prefix, route.path) == path
            for method in _served_methods(route)
        }
        shown = mask_secrets(path)
        if methods:
            allowed = ", ".join(sorted(methods))
            detail = f"{shown} accepts {allowed}, not {request.method}."
            raise MethodNotAllowedError(detail, headers={"Allow": allowed})
        raise NotFoundError(f"The path {shown} does not exist.")

    return refuse
