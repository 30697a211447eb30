"""``POST /translate``: parse, delegate, answer."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from proxy.api import auth
from proxy.api.client_request import (
    ClientTranslateRequest,
    TargetTranslations,
    parse_client_request,
    refuse_stream_of,
)
from proxy.api.compat.libretranslate import root_translate
from proxy.api.compat.libretranslate import translate as libretranslate
from proxy.api.compat.libretranslate.errors import render_error
from proxy.api.exchange import parse_in_turn
from proxy.api.translation_run import TranslationRun
from proxy.context import context
from proxy.translation.service import CACHE_HEADER, AnswerSource
from shared.http import event_stream
from shared.http.openapi import TRANSLATE_HEADERS, body_documentation, problem_documentation
from shared.http.problems import render_errors_with
from shared.http.request_context import request_header
from shared.protocol import sse_format
from shared.protocol.answers import Translation, Translations
from shared.protocol.headers import parse_bearer
from shared.protocol.sse_format import DeltaSink

routes = APIRouter()

TRANSLATE_DOC: Final[dict[str, Any]] = body_documentation(ClientTranslateRequest, TRANSLATE_HEADERS) | auth.NO_KEY
CACHE_DOC: Final = {
    "description": "Source of the answer; only if the cache is on, or an identical request in flight was shared.",
    "schema": {"type": "string", "enum": list(AnswerSource)},
}
ANSWERS: Final = {
    200: {"content": sse_format.documentation(), "headers": {CACHE_HEADER: CACHE_DOC}},
    **problem_documentation((400, 401, 403, 404, 408, 413, 415, 422, 429, 431, 502, 503, 504)),
}


@routes.post(
    "/translate",
    response_model=Translation | Translations | TargetTranslations,
    responses=ANSWERS,
    dependencies=[auth.KEY],
    openapi_extra=TRANSLATE_DOC,
)
async def translate(request: Request) -> Response:
    """Translate one text or a list, into one language or several.

    With ``Accept: text/event-stream`` each part is sent as soon as it is final. A request with ``q`` is answered as by
    LibreTranslate (docs/compat/libretranslate.md).
    """
    if root_translate.is_form_or_query(request):
        render_errors_with(request, render_error)
        return await libretranslate.serve_translate(request)
    sink = event_stream.open_sink(request)
    return await event_stream.respond(request, _translate(request, sink), sink)


async def _translate(request: Request, sink: DeltaSink | None) -> bytes:
    parts = context(request)
    authorization = request_header(request, "authorization")
    with TranslationRun(request) as run:
        is_keyless = parts.keys.authenticator.on and parse_bearer(authorization) is None
        if is_keyless and root_translate.is_mounted(request):
            return await libretranslate.answer_translate(run, await root_translate.receive_keyless(run))
        body = await run.receive(authorization, is_json=True)
        fields = await root_translate.libretranslate_fields(request, body)
        if fields is not None:
            return await libretranslate.answer_translate(run, fields)
        translate_request, targets, glossary = await parse_in_turn(
            request, body, partial(parse_client_request, body, parts.settings.limits)
        )
        if parts.settings.confidence and not translate_request.confidence:
            translate_request = translate_request.model_copy(update={"confidence": True})
        if sink is not None:
            translate_request.refuse_stream()
            refuse_stream_of(targets)
        if glossary is not None:
            return await run.translate_with_glossary(glossary, translate_request, targets, sink=sink)
        requests = [translate_request.model_copy(update={"target_lang": target}) for target in targets]
        return await run.translate(translate_request, requests, sink=sink, body=body)
