"""``POST /detect``: the languages of texts."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from proxy.api import auth
from proxy.api.exchange import RequestExchange, parse_in_turn
from proxy.context import context
from proxy.routing.language_detector import Detection
from shared.http.disconnect import while_connected
from shared.http.openapi import body_documentation, problem_documentation
from shared.http.problems import JsonBytesResponse
from shared.http.request_context import add_log_fields, request_header
from shared.parsing.json_reader import refuse_repeated_names
from shared.parsing.request_parser import CLIENT_SENTENCES, limit_unknown, read_members
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
DETECT_DOC: Final[dict[str, Any]] = body_documentation(DetectRequest) | auth.NO_KEY


@routes.post(
    "/detect",
    response_model=Detection | Detections,
    responses=PROBLEMS,
    dependencies=[auth.KEY],
    openapi_extra=DETECT_DOC,
)
async def detect(request: Request) -> Response:
    """Detect the language of one text, or of each in a list.

    The request counts for the key's requests a minute; no characters are charged.
    """
    parts = context(request)
    settings = parts.settings
    with RequestExchange(request) as exchange:
        body = await exchange.receive(request_header(request, "authorization"), is_json=True)
        text = (await parse_in_turn(request, body, partial(parse_detect_request, body, settings.limits))).text
        texts = [text] if isinstance(text, str) else text
        add_log_fields(request, texts=len(texts))
        work = parts.translation.detection.detect(texts, parts.fleet.registry.snapshot)
        results = await while_connected(request, work)
    answer = results[0] if isinstance(text, str) else Detections(results=results)
    return JsonBytesResponse(answer.model_dump_json().encode())


def parse_detect_request(body: bytes, limits: Limits) -> DetectRequest:
    """Parse and check a request in this order: JSON, object, sizes, fields.

    Raises:
        PairwayError: the body is not a JSON object, too large, or has missing, unknown or wrong members.
    """
    members, is_plainly_unique = read_members(body, limits, "text")
    limit_unknown(members, DetectRequest.model_fields)
    try:
        detect_request = DetectRequest.model_validate(members)
    except ValidationError as error:
        raise invalid_request(error, CLIENT_SENTENCES) from None
    if not is_plainly_unique:
        refuse_repeated_names(body)
    return detect_request
