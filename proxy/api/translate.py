"""``POST /translate``: its body, which has more than replicas know, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, cast

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, StrictStr, WithJsonSchema

from proxy.api.http_exchange import KEY, NO_KEY, translation_run
from proxy.exchange.fields import parse_unique
from proxy.exchange.translation_run import TranslationRun
from proxy.translation.service import CACHE_HEADER, AnswerSource
from proxy.translation.target_list import MAX_TARGETS
from shared.http import event_stream
from shared.http.app_setup import Handler
from shared.http.openapi import TRANSLATE_HEADERS, body_documentation, problem_documentation
from shared.languages import InvalidTagError, canonical_tag
from shared.parsing.request_parser import validate_members
from shared.protocol import sse_format
from shared.protocol.answers import Translation, Translations
from shared.protocol.errors import InvalidRequestError
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import Limits, TranslateRequest
from shared.protocol.validation_errors import MAX_FIELDS_NAMED

# Validates the other members where no target is valid.
_ANY_TARGET: Final = "en"


_TAG: Final = {"type": "string"}


class ClientTranslateRequest(TranslateRequest):
    """Body of the proxy's ``POST /translate``, for its OpenAPI document."""

    target_lang: Annotated[
        StrictStr,
        Field(
            description=f"BCP-47 tag, or a list of up to {MAX_TARGETS}; `targets` of the answer has the same order.",
            examples=["de"],
        ),
        WithJsonSchema({"anyOf": [_TAG, {"type": "array", "items": _TAG, "minItems": 1, "maxItems": MAX_TARGETS}]}),
    ]
    glossary: Annotated[
        StrictStr | None,
        Field(
            description="Id of a glossary of yours; its entries in the texts become terms. Needs `source_lang`.",
            examples=["7b0c6a52-58a5-4c5f-9b8e-0d8f3a6f1c2d"],
        ),
    ] = None


class TargetTranslations(BaseModel):
    """Answer to a list of targets, in the same order."""

    targets: list[Translation | Translations]


class ClientRequest(NamedTuple):
    """Request for one target; if ``targets`` has any, for each.

    ``glossary`` is the id of a glossary, not yet checked.
    """

    request: TranslateRequest
    targets: tuple[str, ...] = ()
    glossary: str | None = None


def parse_client_request(body: bytes, limits: Limits) -> ClientRequest:
    """Parse and check a request; only proxies know some members.

    Raises:
        PairwayError: as ``parse_translate_request``.
    """
    return parse_unique(body, limits, "text and target_lang", _build)


def _build(members: dict[str, object]) -> ClientRequest:
    glossary = members.pop("glossary", None)
    if glossary is not None and not isinstance(glossary, str):
        raise InvalidRequestError([("glossary", "must be a string, the id of a glossary")])
    target = members.get("target_lang")
    if isinstance(target, list):
        parsed = _with_targets(members, cast("list[object]", target))
    else:
        parsed = ClientRequest(validate_members(members))
    return parsed if glossary is None else parsed._replace(glossary=glossary)


def _with_targets(members: dict[str, object], values: list[object]) -> ClientRequest:
    targets, errors = _checked_targets(values)
    members["target_lang"] = targets[0] if targets else _ANY_TARGET
    try:
        request = validate_members(members)
    except InvalidRequestError as error:
        errors = [*((each["field"], each["message"]) for each in error.facts["errors"]), *errors]
        raise InvalidRequestError(errors[:MAX_FIELDS_NAMED]) from None
    if errors:
        raise InvalidRequestError(errors)
    return ClientRequest(request, tuple(targets))


def _checked_targets(values: list[object]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the valid targets, canonical, and the errors of others."""
    if not 0 < len(values) <= MAX_TARGETS:
        return [], [("target_lang", f"a list must have 1 to {MAX_TARGETS} languages, not {len(values)}")]
    first: dict[str, int] = {}
    errors: list[tuple[str, str]] = []
    for index, value in enumerate(values):
        where = f"target_lang[{index}]"
        if not isinstance(value, str):
            errors.append((where, "must be a string"))
            continue
        try:
            target = canonical_tag(value)
        except InvalidTagError as error:
            errors.append((where, str(error)))
            continue
        if target in first:
            errors.append((where, f"is {target}, as target_lang[{first[target]}] is; name each language once"))
        first.setdefault(target, index)
    return list(first), errors


def refuse_stream_of(targets: Sequence[str]) -> None:
    """Raise InvalidRequestError if there are targets: a stream has one."""
    if targets:
        raise InvalidRequestError([("target_lang", "must be one language with Accept: text/event-stream")])


TRANSLATE_DOC: Final[dict[str, Any]] = body_documentation(ClientTranslateRequest, TRANSLATE_HEADERS) | NO_KEY
CACHE_DOC: Final = {
    "description": "Source of the answer; only if the cache is on, or an identical request in flight was shared.",
    "schema": {"type": "string", "enum": list(AnswerSource)},
}
ANSWERS: Final = {
    200: {"content": sse_format.documentation(), "headers": {CACHE_HEADER: CACHE_DOC}},
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
    """Return the documented route.

    ``serve`` answers its requests, and its docstring describes it.
    """
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
