"""``POST /detect``: the languages of texts."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from proxy.api.http_exchange import KEY, NO_KEY, exchange_of
from proxy.exchange.fields import parse_unique
from proxy.routing.language_detector import Detection
from shared.http.openapi import body_documentation, problem_documentation
from shared.http.problems import JsonBytesResponse
from shared.parsing.json_reader import limit_unknown
from shared.parsing.request_parser import CLIENT_SENTENCES
from shared.protocol.translate_request import Limits, TextOrTexts
from shared.protocol.validation_errors import invalid_request

routes = APIRouter()


class DetectRequest(BaseModel):
    """Body of ``POST /detect``."""

    model_config = ConfigDict(extra="forbid")

    text: TextOrTexts


class Detections(BaseModel):
    """Answer to a list, in the same order."""

    results: list[Detection]


PROBLEMS: Final = problem_documentation((400, 401, 403, 408, 413, 415, 422, 429, 431, 503, 504))
DETECT_DOC: Final[dict[str, Any]] = body_documentation(DetectRequest) | NO_KEY


@routes.post(
    "/detect",
    response_model=Detection | Detections,
    responses=PROBLEMS,
    dependencies=[KEY],
    openapi_extra=DETECT_DOC,
)
async def detect(request: Request) -> Response:
    """Detect the language of one text, or of each in a list.

    The request counts for the key's requests a minute; no characters are charged.
    """
    with exchange_of(request) as exchange:
        parts = exchange.parts
        body = await exchange.receive(only_json=True)
        asked = await exchange.in_turn(body, partial(parse_detect_request, body, parts.settings.limits))
        texts = [asked.text] if isinstance(asked.text, str) else asked.text
        exchange.peer.add_log_fields(texts=len(texts))
        work = parts.translation.detection.detect(exchange.caller_identity, texts, parts.fleet.registry.snapshot)
        results = await exchange.peer.while_connected(work)
    answer = results[0] if isinstance(asked.text, str) else Detections(results=results)
    return JsonBytesResponse(answer.model_dump_json().encode())


def parse_detect_request(body: bytes, limits: Limits) -> DetectRequest:
    """Parse and check a request in this order: JSON, object, sizes, fields.

    Raises:
        PairwayError: the body is not a JSON object, too large, or has missing, unknown or wrong members.
    """
    return parse_unique(body, limits, "text", _build)


def _build(members: dict[str, object]) -> DetectRequest:
    limit_unknown(members, DetectRequest.model_fields)
    try:
        return DetectRequest.model_validate(members)
    except ValidationError as error:
        raise invalid_request(error, CLIENT_SENTENCES) from None
