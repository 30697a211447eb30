"""``POST /translate``: parse, delegate, answer."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from proxy.api.client_request import (
    ClientTranslateRequest,
    TargetTranslations,
    parse_client_request,
    refuse_stream_of,
)
from proxy.api.http_exchange import KEY, NO_KEY, translation_run
from proxy.exchange.translation_run import TranslationRun
from proxy.translation.service import CACHE_HEADER, AnswerSource
from shared.http import event_stream
from shared.http.app_setup import Handler
from shared.http.openapi import TRANSLATE_HEADERS, body_documentation, problem_documentation
from shared.protocol import sse
from shared.protocol.answers import Translation, Translations
from shared.protocol.sse import DeltaSink

TRANSLATE_DOC: Final[dict[str, Any]] = body_documentation(ClientTranslateRequest, TRANSLATE_HEADERS) | NO_KEY
CACHE_DOC: Final = {
    "description": "Source of the answer; only if the cache is on, or an identical request in flight was shared.",
    "schema": {"type": "string", "enum": list(AnswerSource)},
}
ANSWERS: Final = {
    200: {"content": sse.documentation(), "headers": {CACHE_HEADER: CACHE_DOC}},
    **problem_documentation((400, 401, 403, 404, 408, 413, 415, 422, 429, 431, 502, 503, 504)),
}


async def translate(request: Request) -> Response:
    """Translate one text or a list, into one language or several.

    With ``Accept: text/event-stream`` each part is sent as soon as it is final.
    """
    sink = event_stream.open_sink(request)
    return await event_stream.respond(request, _translate(request, sink), sink)


async def _translate(request: Request, sink: DeltaSink | None) -> bytes:
    with translation_run(request) as run:
        return await answer(run, await run.receive(only_json=True), sink)


async def answer(run: TranslationRun, body: bytes, sink: DeltaSink | None) -> bytes:
    """Return the JSON answer to a known caller's body.

    Raises:
        PairwayError: the body is malformed, a field is wrong, or there is no translation.
    """
    settings = run.parts.settings
    asked = await run.in_turn(body, partial(parse_client_request, body, settings.limits))
    translate_request, targets, glossary = asked
    if settings.confidence and not translate_request.confidence:
        translate_request = translate_request.model_copy(update={"confidence": True})
    if sink is not None:
        translate_request.refuse_stream()
        refuse_stream_of(targets)
    if glossary is not None:
        return await run.translate_with_glossary(glossary, translate_request, targets, sink=sink)
    requests = [translate_request.model_copy(update={"target_lang": target}) for target in targets]
    return await run.translate(translate_request, requests, sink=sink, body=body)


def create_routes(serve: Handler = translate) -> APIRouter:
    """Return the documented route; ``serve`` answers its requests, and its docstring describes it."""
    routes = APIRouter()
    routes.add_api_route(
        "/translate",
        serve,
        methods=["POST"],
        name=translate.__name__,
        response_model=Translation | Translations | TargetTranslations,
        responses=ANSWERS,
        dependencies=[KEY],
        openapi_extra=TRANSLATE_DOC,
    )
    return routes
