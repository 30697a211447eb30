"""HTTP surface of the proxy: parse, delegate, answer."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer

from proxy.api import auth, health_view
from proxy.call import TranslationCall
from proxy.context import ProxyContext
from proxy.keys.api_key import Scope
from proxy.keys.quota import Usage, limit_headers
from proxy.translation.service import AnswerSource
from shared.http import event_stream
from shared.http.body import read_body
from shared.http.disconnect import while_connected
from shared.http.openapi import PROBE_DOCUMENTATION, TRANSLATE_HEADERS, body_documentation, problem_documentation
from shared.http.probes import livez_response
from shared.http.request_context import add_log_fields, add_response_headers
from shared.protocol import sse
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.errors import NotFoundError
from shared.protocol.messages import TranslateRequest, Translation, Translations, parse_translate_request
from shared.protocol.priority import PRIORITY_HEADER, Priority
from shared.protocol.sse import OnDelta

routes = APIRouter()

NO_KEY: Final[dict[str, Any]] = {"security": [{}]}
TRANSLATE_DOC: Final[dict[str, Any]] = body_documentation(TranslateRequest, TRANSLATE_HEADERS) | NO_KEY
CACHE_HEADER: Final = "X-Cache"
CACHE_DOC: Final = {
    "description": "Where the answer comes from; only where a cache is on, or a request under way was shared.",
    "schema": {"type": "string", "enum": list(AnswerSource)},
}
# Documents what access.py reads by itself; the empty one beside it says that it may not be needed.
KEY: Final = Depends(HTTPBearer(scheme_name="key", description="Where keys are on (PROXY_KEYS).", auto_error=False))
ANSWERS: Final = {
    200: {"content": sse.documentation(), "headers": {CACHE_HEADER: CACHE_DOC}},
    **problem_documentation((400, 401, 403, 404, 408, 413, 415, 422, 429, 431, 502, 503, 504)),
}


def _parts(request: Request) -> ProxyContext:
    return request.app.state.parts


@routes.post(
    "/translate",
    response_model=Translation | Translations,
    responses=ANSWERS,
    dependencies=[KEY],
    openapi_extra=TRANSLATE_DOC,
)
async def translate(request: Request) -> Response:
    """Translate one text or a list, wherever in the fleet its pair is served.

    With ``Accept: text/event-stream`` each part is sent as soon as it is final.
    """
    return await event_stream.respond(request, partial(_translate, request))


async def _translate(request: Request, on_delta: OnDelta | None) -> bytes:
    parts = _parts(request)
    settings = parts.settings
    with parts.metrics.request_timer(time.monotonic) as measured, parts.bodies.reserve() as hold:
        tell, who = partial(add_response_headers, request), partial(auth.note_key, request)
        address = request.client.host if request.client else ""
        times = settings.time_limits
        deadline = Deadline.from_header(request.headers.get(TIMEOUT_HEADER), times.base, time.monotonic)
        if parts.access.on:
            try:
                async with asyncio.timeout(deadline.remaining()):
                    visit = await parts.access.enter(request.headers.get("authorization"), tell, who)
            except TimeoutError:
                raise deadline.exceeded_error() from None
        else:
            visit = parts.access.anybody(address)
        body = await read_body(request, settings.max_body_bytes, deadline, hold)
        asked = parse_translate_request(body, settings.limits)
        deadline = deadline.extended(times.seconds(asked.chars))
        add_log_fields(request, source=asked.source_lang, target=asked.target_lang, texts=len(asked.texts))
        priority = Priority.from_header(request.headers.get(PRIORITY_HEADER)).at_most(visit.caller.ceiling)
        try:
            async with parts.access.spending(visit, asked.chars, tell) as spending:
                told = spending.noting(on_delta)
                call = TranslationCall(
                    asked, visit.caller, priority, deadline, request.state.request_id, measured, told
                )
                work = parts.answers.translate(call, lambda source: tell({CACHE_HEADER: source}))
                return await while_connected(request, work)
        finally:
            add_log_fields(request, pair=measured.pair, replicas=measured.replicas)


@routes.get(
    "/usage",
    responses=problem_documentation((401, 403, 404, 503)),
    dependencies=[KEY],
    openapi_extra=NO_KEY,
)
async def usage(request: Request) -> Usage:
    """Show a caller what their key may, and what they used of it; asking costs nothing. 404 where keys are off."""
    access = _parts(request).access
    if not access.on:
        raise NotFoundError("Keys are off on this proxy: nothing is counted, and nobody is limited.")
    key = await access.identify(request.headers.get("authorization"), Scope.TRANSLATE, partial(auth.note_key, request))
    counted = await access.used(key)
    add_response_headers(request, limit_headers(key, counted))
    return Usage.of(key.view, counted)


@routes.head("/health", include_in_schema=False)
@routes.get("/health", responses={503: {"model": health_view.Health}})
async def health(request: Request) -> health_view.Health:
    """The fleet at a glance; 200 for ok and degraded, 503 for down. Never waits for Redis or a replica."""
    parts = _parts(request)
    registry, evidence = parts.registry, parts.evidence
    status, page = parts.page.render(
        registry.snapshot,
        redis_error=registry.redis_error,
        leading=registry.leading,
        uptime=time.time() - parts.started_at,
        now=time.time(),
        load=lambda url: evidence.load(url, registry.snapshot),
        failing=lambda pair: len(evidence.out(pair, registry.snapshot)),
    )
    return Response(page, 503 if status == "down" else 200, media_type="application/json")  # pyright: ignore[reportReturnType] - the annotation documents the schema


@routes.get("/languages")
async def languages(request: Request) -> health_view.Languages:
    """Every language that can be translated from, its targets, and which of them can be served now."""
    parts = _parts(request)
    # Through 100 languages lead a million ways: not for the event loop.
    return await asyncio.to_thread(health_view.languages, parts.registry.snapshot, parts.listed_pivots)


@routes.head("/livez", include_in_schema=False)
@routes.get("/livez", responses=PROBE_DOCUMENTATION)
async def livez(request: Request) -> Response:
    """200 while the tracker ticks; depends on neither Redis nor load."""
    return livez_response(_parts(request).loops)


@routes.head("/readyz", include_in_schema=False)
@routes.get("/readyz", responses=PROBE_DOCUMENTATION)
async def readyz(request: Request) -> Response:
    """200 after the first sweep and until draining."""
    parts = _parts(request)
    ready = parts.registry.swept and not parts.draining.is_set()
    return JSONResponse({"ready": ready, "draining": parts.draining.is_set()}, 200 if ready else 503)
