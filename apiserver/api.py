"""HTTP endpoints of the API server: parse, delegate, answer."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPBearer

from apiserver.changes.reports import Models, ReloadOrder
from apiserver.context import ApiServerContext, context
from apiserver.scheduling.text_memory import chars_in_memory
from apiserver.scheduling.work_item import WorkItem
from shared.http import event_stream
from shared.http.body import read_json_body, read_operator_body
from shared.http.disconnect import while_connected
from shared.http.openapi import (
    METRICS_DOCUMENTATION,
    PROBE_DOCUMENTATION,
    TRANSLATE_HEADERS,
    body_documentation,
    problem_documentation,
)
from shared.http.probes import livez_response, metrics_response, startupz_response
from shared.http.request_context import add_log_fields, request_header
from shared.parsing.form_body import parse_urlencoded
from shared.parsing.request_parser import parse_translate_request
from shared.protocol import sse_format
from shared.protocol.answers import Translation, Translations
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.errors import OperatorOffError
from shared.protocol.headers import (
    CALLER_HEADER,
    authenticate,
    caller_from_header,
)
from shared.protocol.priority import PRIORITY_HEADER, Priority
from shared.protocol.report import ReplicaReport
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest

routes = APIRouter()

# Of each text of a list, at most: it is searched for words, or its result is written.
TEXT_SECONDS: Final = 1e-5
PAIRS_VERSION: Final[dict[str, Any]] = {"name": "pairs_version", "in": "query", "schema": {"type": "string"}}
TRANSLATE_DOC: Final[dict[str, Any]] = body_documentation(TranslateRequest, TRANSLATE_HEADERS)
ANSWERS: Final = {
    200: {"content": sse_format.documentation()},
    **problem_documentation((400, 401, 403, 404, 408, 413, 415, 422, 431, 502, 503, 504)),
}


CLOSED: Final = problem_documentation((401, 403))


def _authorize(request: Request) -> None:
    """Check the fleet's token, if one is set.

    Raises:
        KeyRequiredError: the request has no token.
        KeyRefusedError: the token is wrong.
    """
    settings = context(request).settings
    if settings.token.get_secret_value():
        shown, previous = request_header(request, "authorization"), settings.token_previous
        authenticate(
            settings.token, shown, subject="The calls of a proxy", owner="this API server's", previous=previous
        )


@routes.post("/translate", response_model=Translation | Translations, responses=ANSWERS, openapi_extra=TRANSLATE_DOC)
async def translate(request: Request) -> Response:
    """Translate one text or a list.

    With ``Accept: text/event-stream`` each part is sent as soon as it is final.
    """
    sink = event_stream.open_sink(request)
    return await event_stream.respond(request, _translate(request, sink), sink)


async def _translate(request: Request, sink: DeltaSink | None) -> bytes:
    _authorize(request)
    app = context(request)
    with app.metrics.request_timer(time.monotonic) as sample, app.bodies.reserve() as reservation:
        deadline = Deadline.from_header(request_header(request, TIMEOUT_HEADER), app.time_limits.base, time.monotonic)
        priority = Priority.from_header(request_header(request, PRIORITY_HEADER))
        caller = caller_from_header(request_header(request, CALLER_HEADER))
        body = await read_json_body(request, app.limits.body_bytes, deadline, reservation)
        parse = partial(parse_translate_request, body, app.limits)
        translate_request = await app.long_bodies.parse(caller, len(body), parse)
        del body, parse
        reservation.release()  # the texts count from here on
        if sink is not None:
            translate_request.refuse_stream()
        pair = app.model_server.resolve(translate_request)
        request_id: str = request.scope["state"]["request_id"]
        work = WorkItem(translate_request, pair, deadline, request_id, priority, caller, sink)
        work.deadline = deadline.extended(app.time_limits.seconds(work.chars))
        sample.pair = str(pair)
        add_log_fields(request, pair=sample.pair, texts=len(work.texts))
        with app.text_memory.hold(caller, chars_in_memory(translate_request)):
            await _take_turn(app, work)
            results = await while_connected(request, app.model_server.translate(work))
            await _take_turn(app, work)
            return translate_request.answer(results)


async def _take_turn(app: ApiServerContext, work: WorkItem) -> None:
    """Wait for a turn for work on all texts of a list."""
    if len(work.texts) > 1:
        await app.turns.take(len(work.texts) * TEXT_SECONDS)


@routes.get("/report", responses=CLOSED, openapi_extra={"parameters": [PAIRS_VERSION]})
async def report(request: Request) -> ReplicaReport:
    """Return state, load and progress, and the pairs unless ``pairs_version`` is current."""
    _authorize(request)
    # Read here, because FastAPI looks through all parameters for each one: 3,000 take 0.1 s.
    known = dict(parse_urlencoded(request.scope["query_string"])).get(PAIRS_VERSION["name"])
    return context(request).model_server.observed_report().without_known_pairs(known)


@routes.get("/livez", responses=PROBE_DOCUMENTATION)
async def livez(request: Request) -> Response:
    """Return 200 while the loops that keep the models alive are running."""
    return livez_response(context(request).loops)


@routes.get("/readyz", responses=PROBE_DOCUMENTATION)
async def readyz(request: Request) -> Response:
    """Return 200 while a pair is ready, unless the server is draining."""
    report = context(request).model_server.observed_report()
    return JSONResponse({"state": report.state}, 200 if report.state == "ready" else 503)


@routes.get("/startupz", responses=PROBE_DOCUMENTATION)
async def startupz(request: Request) -> Response:
    """Return 200 once every configured pair was ready."""
    server = context(request).model_server
    server.observed_report()
    return startupz_response(server.startup)


@routes.get("/metrics", response_class=PlainTextResponse, responses={**METRICS_DOCUMENTATION, **CLOSED})
async def metrics(request: Request) -> Response:
    """Return the metrics of server and engines in Prometheus' text format."""
    _authorize(request)
    parts = context(request)
    return await metrics_response(parts.metrics_page, parts.collector())


_SCHEME: Final = Depends(HTTPBearer(scheme_name="operator", description="APISERVER_OPERATOR_TOKEN.", auto_error=False))


async def require_operator(request: Request, _: Any = _SCHEME) -> None:
    """Require the operator's token; a proxy's is refused.

    Raises:
        PairwayError: no token is configured (OperatorOffError), or it is missing or wrong.
    """
    token = context(request).settings.operator_token
    if not token.get_secret_value():
        raise OperatorOffError(
            "To change models while serving, start this API server with APISERVER_OPERATOR_TOKEN set."
        )
    shown = request_header(request, "authorization")
    authenticate(token, shown, subject="The calls of an operator", owner="this API server's operator")


_OPERATOR: Final[dict[str, Any]] = {"dependencies": [Depends(require_operator)]}
_READ: Final[dict[str, Any]] = {**_OPERATOR, "responses": problem_documentation((401, 403))}
_CHANGE: Final[dict[str, Any]] = {
    **_OPERATOR,
    "status_code": 202,
    "responses": problem_documentation((400, 401, 403, 408, 409, 413, 415, 422, 431, 503)),
}


@routes.get("/models", **_READ)
async def models(request: Request) -> Models:
    """Return what serves, what the catalog on disk says, and the reloads."""
    return await context(request).reloader.models()


@routes.post("/models/reload", openapi_extra=body_documentation(ReloadOrder), **_CHANGE)
async def reload(request: Request) -> Models:
    """Serve what the catalog on disk says.

    Each entry that differs is loaded beside what serves its pairs, proven by canaries, and takes their place.
    """
    reloader = context(request).reloader
    await reloader.reload(await read_operator_body(request, ReloadOrder, context(request).bodies))
    return await reloader.models()


@routes.delete("/models/reload", **_CHANGE)
async def cancel(request: Request) -> Models:
    """End the reload that runs; the old models serve on."""
    reloader = context(request).reloader
    reloader.cancel()
    return await reloader.models()
