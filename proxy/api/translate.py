"""``POST /translate``: parse, delegate, answer."""

from __future__ import annotations

import time
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from proxy.api import auth
from proxy.call import TranslationCall
from proxy.context import context
from proxy.request_cost import RequestCost
from proxy.translation.service import CACHE_HEADER, AnswerSource
from shared.http import event_stream
from shared.http.body import read_body
from shared.http.disconnect import while_connected
from shared.http.openapi import TRANSLATE_HEADERS, body_documentation, problem_documentation
from shared.http.request_context import add_log_fields, add_response_headers, request_header
from shared.protocol import sse
from shared.protocol.answers import Translation, Translations
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.priority import PRIORITY_HEADER, Priority
from shared.protocol.sse import DeltaSink
from shared.protocol.translate_request import TranslateRequest, parse_translate_request
from shared.runtime.metrics import NO_ROUTE

routes = APIRouter()

TRANSLATE_DOC: Final[dict[str, Any]] = body_documentation(TranslateRequest, TRANSLATE_HEADERS) | auth.NO_KEY
CACHE_DOC: Final = {
    "description": "Source of the answer; only if the cache is on, or an identical request in flight was shared.",
    "schema": {"type": "string", "enum": list(AnswerSource)},
}
ANSWERS: Final = {
    200: {"content": sse.documentation(), "headers": {CACHE_HEADER: CACHE_DOC}},
    **problem_documentation((400, 401, 403, 404, 408, 413, 415, 422, 429, 431, 502, 503, 504)),
}


@routes.post(
    "/translate",
    response_model=Translation | Translations,
    responses=ANSWERS,
    dependencies=[auth.KEY],
    openapi_extra=TRANSLATE_DOC,
)
async def translate(request: Request) -> Response:
    """Translate one text or a list of texts.

    With ``Accept: text/event-stream`` each part is sent as soon as it is final.
    """
    sink = event_stream.open_sink(request)
    return await event_stream.respond(request, _translate(request, sink), sink)


async def _translate(request: Request, sink: DeltaSink | None) -> bytes:
    parts = context(request)
    metrics, budget, pipeline = parts.process.metrics, parts.process.body_budget, parts.translation
    settings, meter = parts.settings, parts.keys.authenticator.meter
    with metrics.request_timer(time.monotonic) as sample, budget.reserve() as reservation:
        times = settings.time_limits
        deadline = Deadline.from_header(request_header(request, TIMEOUT_HEADER), times.base, time.monotonic)
        authentication = await auth.authenticate(request, deadline)
        body = await read_body(request, settings.max_body_bytes, deadline, reservation)
        translate_request = parse_translate_request(body, settings.limits)
        if sink is not None:
            translate_request.refuse_stream()
        caller, request_id = authentication.caller, request.scope["state"]["request_id"]
        priority = Priority.from_header(request_header(request, PRIORITY_HEADER)).at_most(caller.ceiling)
        cost = RequestCost.of(translate_request, priority)
        source, target = translate_request.source_lang, translate_request.target_lang
        add_log_fields(request, source=source, target=target, texts=cost.texts)
        deadline = deadline.extended(times.seconds(cost.chars))
        charge = None
        try:
            if authentication.key is not None:
                charge = await meter.charge(authentication.key, cost.charged_chars)
                add_response_headers(request, charge.headers)
            call = TranslationCall(translate_request, cost, caller, priority, deadline, request_id, sample, sink, body)
            work = pipeline.service.translate(call)
            answer = await while_connected(request, work, pipeline.coalescer.outlives_client)
        except BaseException:
            if charge is not None and not (sink is not None and sink.started):  # a started stream is not refunded
                await meter.refund(charge)
            raise
        finally:
            add_log_fields(request, pair=sample.pair, replicas=sample.replicas)
            if sample.route not in {sample.pair, NO_ROUTE}:
                add_log_fields(request, route=sample.route)
        if answer.source is not None:
            add_response_headers(request, {CACHE_HEADER: answer.source})
        return answer.body
