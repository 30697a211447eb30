"""Mounts: the compatible APIs' paths, under prefixes and at the root."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fastapi import APIRouter, FastAPI, Request, Response

from proxy.api import translate
from proxy.api.compat import deepl, deeplx, extensions, libretranslate
from proxy.api.compat.codec import CompatApi, CompatRoute, SharedTranslate
from proxy.api.http_exchange import translation_run
from proxy.exchange.fields import Fields, parse_fields
from proxy.exchange.key_places import HEADER, KeyPlaces
from proxy.exchange.peer import Peer
from proxy.exchange.translation_run import TranslationRun
from shared.http import event_stream
from shared.http.app_setup import Handler
from shared.http.problems import ErrorRenderer, render_errors_with
from shared.http.request_context import add_response_headers, route_path
from shared.protocol.errors import (
    BadRequestError,
    MethodNotAllowedError,
    NotFoundError,
    PairwayError,
    TooLargeError,
    UnsupportedMediaError,
)
from shared.protocol.headers import mask_secrets, parse_bearer
from shared.protocol.sse_format import DeltaSink

APIS: Final[tuple[CompatApi, ...]] = (libretranslate.API, deepl.API, deeplx.API, extensions.IMMERSIVE, extensions.KISS)
_ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


def select(names: Sequence[str]) -> tuple[CompatApi, ...]:
    """Return the APIs with these names."""
    return tuple(api for api in APIS if api.name in names)


def translate_handler(apis: Sequence[CompatApi]) -> Handler:
    """Return the handler of the root's ``/translate``, perhaps shared with an API."""
    for api in apis:
        if api.shared_translate is not None:
            return _shared_handler(api, api.shared_translate)
    return translate.translate


def fast_handlers(apis: Sequence[CompatApi]) -> dict[str, Handler]:
    """Return the handlers of POSTs that go past FastAPI's layers, by path."""
    return {
        path: _with_errors_of(api, route.handler)
        for api in apis
        for route in api.routes
        if route.is_fast
        for path in _served_paths(api, route)
    }


def add_routes(app: FastAPI, apis: Sequence[CompatApi]) -> None:
    """Add these APIs' paths; others under a prefix get 404 or 405."""
    for api in apis:
        routes = APIRouter(include_in_schema=False)
        for route in api.routes:
            handler, methods = _with_errors_of(api, route.handler), _served_methods(route)
            for path in _served_paths(api, route):
                routes.add_api_route(path, handler, methods=methods)
        refuse = _refuse_path(api)
        for path in {api.prefix, api.prefix + "/{path:path}"}:
            routes.add_api_route(path, refuse, methods=_ALL_METHODS)
        app.include_router(routes)


def find_renderer(apis: Sequence[CompatApi]) -> Callable[[str], ErrorRenderer | None]:
    """Return a function from paths to their errors' renderer, None if native."""
    renderers = {api.prefix: _renderer_of(api) for api in apis}
    # A version such as /v2 is a whole API's.
    at_root: Mapping[str, ErrorRenderer] = {
        _first_segment(route.path): renderers[api.prefix] for api in apis for route in api.routes if route.at_root
    }

    def find(path: str) -> ErrorRenderer | None:
        for prefix, renderer in renderers.items():
            if path == prefix or path.startswith(f"{prefix}/"):
                return renderer
        return at_root.get(_first_segment(path))

    return find


def _served_methods(route: CompatRoute) -> list[str]:
    """Return a route's methods; HEAD is for monitors."""
    return [*route.methods, "HEAD"] if "GET" in route.methods else list(route.methods)


def _first_segment(path: str) -> str:
    return path[1:].partition("/")[0]


def _served_paths(api: CompatApi, route: CompatRoute) -> list[str]:
    """Return a route's path under the prefix, and that at the root."""
    prefixed = api.prefix if route.path == "/" else api.prefix + route.path
    return [prefixed, route.path] if route.at_root else [prefixed]


def _with_errors_of(api: CompatApi, handler: Handler) -> Handler:
    renderer = _renderer_of(api)

    async def serve(request: Request) -> Response:
        render_errors_with(request, renderer)
        _add_trace(request, api)
        return await handler(request)

    return serve


def _renderer_of(api: CompatApi) -> ErrorRenderer:
    """Return the API's renderer of errors; they too have its trace."""

    def render(request: Request, error: PairwayError) -> Response:
        _add_trace(request, api)
        return api.render_error(request, error)

    return render


def _add_trace(request: Request, api: CompatApi) -> None:
    if api.trace_header:
        add_response_headers(request, {api.trace_header: request.scope["state"]["request_id"]})


def _shared_handler(api: CompatApi, shared: SharedTranslate) -> Handler:
    own, renderer = _with_errors_of(api, shared.codec.serve), _renderer_of(api)

    async def serve(request: Request) -> Response:
        """Translate one text or a list, into one language or several.

        With ``Accept: text/event-stream`` each part is sent as soon as it is final. A request with ``q`` is answered as by
        LibreTranslate (docs/compat/libretranslate.md).
        """
        if shared.has_head(request.scope["state"]["headers"], request.scope["query_string"]):
            return await own(request)
        sink = event_stream.open_sink(request)
        return await event_stream.respond(request, _answer_shared(request, renderer, shared, sink), sink)

    return serve


async def _answer_shared(
    request: Request, renderer: ErrorRenderer, shared: SharedTranslate, sink: DeltaSink | None
) -> bytes:
    """Answer a JSON body in the API to which it belongs.

    Where keys are on, a body without one in its head is searched for the API's.
    """
    codec = shared.codec
    with translation_run(request) as run:

        def adopt() -> None:
            render_errors_with(request, renderer)
            run.waits = codec.waits

        def find_key(peer: Peer, body: bytes) -> str | None:
            if codec.keys.in_body is None or not shared.may_be(body):
                return None
            adopt()
            return codec.keys.in_body(peer, body)

        is_keyless = run.parts.keys.authenticator.on and parse_bearer(HEADER.in_head(run.peer)) is None
        try:
            body = await run.receive(KeyPlaces(lambda _: None, find_key) if is_keyless else HEADER, only_json=True)
        except (UnsupportedMediaError, TooLargeError):
            if is_keyless:
                await run.identify(None)  # what is missing first is the key
            raise
        fields = await _own_fields(run, shared, body, is_keyless=is_keyless)
        if fields is None:
            if is_keyless:
                await run.identify(None)  # a native request has its key in the header
            return await translate.answer(run, body, sink)
        adopt()
        return await codec.answer(run, fields)


async def _own_fields(run: TranslationRun, shared: SharedTranslate, body: bytes, *, is_keyless: bool) -> Fields | None:
    """Return the fields of the API's own body, else None."""
    if shared.mark not in body:
        return None
    try:
        fields = await parse_fields(run, shared.codec.body, body)
    except (BadRequestError, TooLargeError):
        if is_keyless:  # its key was found where only the API has one
            raise
        return None
    return fields if shared.is_own(fields) else None


def _refuse_path(api: CompatApi) -> Handler:
    # Paths have letters, digits and slashes beside their {names}.
    patterns = [(route, re.compile(re.sub(r"{\w+}", "[^/]+", _served_paths(api, route)[0]))) for route in api.routes]

    async def refuse(request: Request) -> Response:
        path = route_path(request.scope)
        methods = {
            method for route, pattern in patterns if pattern.fullmatch(path) for method in _served_methods(route)
        }
        shown = mask_secrets(path)
        if methods:
            allowed = ", ".join(sorted(methods))
            detail = f"{shown} accepts {allowed}, not {request.method}."
            raise MethodNotAllowedError(detail, headers={"Allow": allowed})
        raise NotFoundError(f"The path {shown} does not exist.")

    return refuse
