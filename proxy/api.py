"""HTTP surface of the proxy: parse, delegate, answer."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer

from proxy import health as judge
from proxy import orders
from proxy.answers import Source
from proxy.call import Call
from proxy.key import Scope
from proxy.quota import limit_headers
from proxy.usage import Usage
from shared import events, stream, web
from shared.deadline import TIMEOUT_HEADER, Deadline
from shared.errors import NotFoundError
from shared.priority import PRIORITY_HEADER, Priority
from shared.wire import TranslateRequest, Translation, Translations, parse_translate_request

if TYPE_CHECKING:
    from proxy.app import Parts
    from shared.events import OnDelta

routes = APIRouter()

NO_KEY: Final[dict[str, Any]] = {"security": [{}]}
TRANSLATE_DOC: Final[dict[str, Any]] = web.body_documentation(TranslateRequest, web.TRANSLATE_HEADERS) | NO_KEY
CACHE_HEADER: Final = "X-Cache"
CACHE_DOC: Final = {
    "description": "Where the answer comes from; only where a cache is on, or a request under way was shared.",
    "schema": {"type": "string", "enum": list(Source)},
}
# Documents what access.py reads by itself; the empty one beside it says that it may not be needed.
KEY: Final = Depends(HTTPBearer(scheme_name="key", description="Where keys are on (PROXY_KEYS).", auto_error=False))
ANSWERS: Final = {
    200: {"content": events.documentation(), "headers": {CACHE_HEADER: CACHE_DOC}},
    **web.problem_documentation((400, 401, 403, 404, 408, 413, 415, 422, 429, 431, 502, 503, 504)),
}


def _parts(request: Request) -> Parts:
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
    return await stream.respond(request, partial(_translate, request))


async def _translate(request: Request, on_delta: OnDelta | None) -> bytes:
    parts = _parts(request)
    settings = parts.settings
    with parts.metrics.measured(time.monotonic) as measured, parts.bodies.hold() as hold:
        tell, who = partial(web.answer_headers, request), partial(orders.note_key, request)
        address = request.client.host if request.client else ""
        times = settings.time_limits
        deadline = Deadline.from_header(request.headers.get(TIMEOUT_HEADER), times.base, time.monotonic)
        if parts.access.on:
            try:
                async with asyncio.timeout(deadline.remaining()):
                    visit = await parts.access.enter(request.headers.get("authorization"), tell, who)
            except TimeoutError:
                raise deadline.exceeded() from None
        else:
            visit = parts.access.anybody(address)
        body = await web.read_body(request, settings.max_body_bytes, deadline, hold)
        asked = parse_translate_request(body, settings.limits)
        deadline = deadline.extended(times.seconds(asked.chars))
        web.log_fields(request, source=asked.source_lang, target=asked.target_lang, texts=len(asked.texts))
        priority = Priority.from_header(request.headers.get(PRIORITY_HEADER)).at_most(visit.caller.ceiling)
        try:
            async with parts.access.spending(visit, asked.chars, tell) as spending:
                told = spending.noting(on_delta)
                call = Call(asked, visit.caller, priority, deadline, request.state.request_id, measured, told)
                work = parts.answers.translate(call, lambda source: tell({CACHE_HEADER: source}))
                return await web.while_connected(request, work)
        finally:
            web.log_fields(request, pair=measured.pair, replicas=measured.replicas)


@routes.get(
    "/usage",
    responses=web.problem_documentation((401, 403, 404, 503)),
    dependencies=[KEY],
    openapi_extra=NO_KEY,
)
async def usage(request: Request) -> Usage:
    """Show a caller what their key may, and what they used of it; asking costs nothing. 404 where keys are off."""
    access = _parts(request).access
    if not access.on:
        raise NotFoundError("Keys are off on this proxy: nothing is counted, and nobody is limited.")
    key = await access.identify(
        request.headers.get("authorization"), Scope.TRANSLATE, partial(orders.note_key, request)
    )
    counted = await access.used(key)
    web.answer_headers(request, limit_headers(key, counted))
    return Usage.of(key.view, counted)


@routes.head("/health", include_in_schema=False)
@routes.get("/health", responses={503: {"model": judge.Health}})
async def health(request: Request) -> judge.Health:
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
async def languages(request: Request) -> judge.Languages:
    """Every language that can be translated from, its targets, and which of them can be served now."""
    parts = _parts(request)
    # Through 100 languages lead a million ways: not for the event loop.
    return await asyncio.to_thread(judge.languages, parts.registry.snapshot, parts.listed_pivots)


@routes.head("/livez", include_in_schema=False)
@routes.get("/livez", responses=web.PROBE_DOC)
async def livez(request: Request) -> Response:
    """200 while the tracker ticks; depends on neither Redis nor load."""
    return web.livez(_parts(request).loops)


@routes.head("/readyz", include_in_schema=False)
@routes.get("/readyz", responses=web.PROBE_DOC)
async def readyz(request: Request) -> Response:
    """200 after the first sweep and until draining."""
    parts = _parts(request)
    ready = parts.registry.swept and not parts.draining.is_set()
    return JSONResponse({"ready": ready, "draining": parts.draining.is_set()}, 200 if ready else 503)
