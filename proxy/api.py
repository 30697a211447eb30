"""HTTP surface of the proxy: parse, delegate, answer."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from proxy import health as judge
from proxy.call import Call
from proxy.caller import Caller
from shared import events, stream, web
from shared.deadline import TIMEOUT_HEADER, Deadline
from shared.priority import PRIORITY_HEADER, Priority
from shared.wire import TranslateRequest, Translation, Translations, parse_translate_request

if TYPE_CHECKING:
    from proxy.app import Parts
    from shared.events import OnDelta

routes = APIRouter()

TRANSLATE_DOC: Final[dict[str, Any]] = web.body_documentation(TranslateRequest, web.TRANSLATE_HEADERS)
ANSWERS: Final = {
    200: {"content": events.documentation()},
    **web.problem_documentation((400, 404, 408, 413, 415, 422, 429, 431, 502, 503, 504)),
}


def _parts(request: Request) -> Parts:
    return request.app.state.parts


@routes.post("/translate", response_model=Translation | Translations, responses=ANSWERS, openapi_extra=TRANSLATE_DOC)
async def translate(request: Request) -> Response:
    """Translate one text or a list, wherever in the fleet its pair is served.

    With ``Accept: text/event-stream`` each part is sent as soon as it is final.
    """
    return await stream.respond(request, partial(_translate, request))


async def _translate(request: Request, on_delta: OnDelta | None) -> bytes:
    parts = _parts(request)
    settings = parts.settings
    with parts.metrics.measured(time.monotonic) as measured, parts.bodies.hold() as hold:
        caller = Caller(f"address {request.client.host if request.client else ''}")
        times = settings.time_limits
        deadline = Deadline.from_header(request.headers.get(TIMEOUT_HEADER), times.base, time.monotonic)
        body = await web.read_body(request, settings.max_body_bytes, deadline, hold)
        asked = parse_translate_request(body, settings.limits)
        deadline = deadline.extended(times.seconds(asked.chars))
        web.log_fields(request, source=asked.source_lang, target=asked.target_lang, texts=len(asked.texts))
        priority = Priority.from_header(request.headers.get(PRIORITY_HEADER)).at_most(caller.ceiling)
        call = Call(asked, caller, priority, deadline, request.state.request_id, measured, on_delta)
        work = parts.dispatcher.translate(call)
        try:
            return await web.while_connected(request, work)
        finally:
            web.log_fields(request, pair=measured.pair, replicas=measured.replicas)


@routes.head("/health", include_in_schema=False)
@routes.get("/health", responses={503: {"model": judge.Health}})
async def health(request: Request) -> judge.Health:
    """The fleet at a glance; 200 for ok and degraded, 503 for down. Never waits for Redis or a replica."""
    parts = _parts(request)
    registry, evidence = parts.registry, parts.evidence
    judged = judge.health(
        registry.snapshot,
        redis_error=registry.redis_error,
        leading=registry.leading,
        uptime=time.time() - parts.started_at,
        now=time.time(),
        load=lambda url: evidence.load(url, registry.snapshot),
        failing=lambda pair: len(evidence.out(pair, registry.snapshot)),
    )
    return JSONResponse(judged.model_dump(mode="json"), 503 if judged.status == "down" else 200)  # pyright: ignore[reportReturnType] - the annotation documents the schema


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
