"""``POST /detect``: the languages of one text, or of a list together."""

from __future__ import annotations

from functools import partial
from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.fields import fields_of
from proxy.api.compat.libretranslate.languages import code_of
from proxy.api.compat.libretranslate.question import (
    READER,
    check_limits,
    early_authorization,
    find_authorization,
    read_texts,
)
from proxy.api.compat.list_language import average
from proxy.api.exchange import RequestExchange
from proxy.context import context
from shared.http.disconnect import while_connected
from shared.http.problems import JsonBytesResponse
from shared.http.request_context import add_log_fields
from shared.protocol.answers import Detected

# Languages of an answer.
MAX_LANGUAGES: Final = 3


async def serve_detect(request: Request) -> Response:
    """Answer ``POST /detect``.

    It counts as a request of the key; no characters are charged.
    """
    parts = context(request)
    with RequestExchange(request) as exchange:
        body = await exchange.receive(early_authorization(request), partial(find_authorization, request))
        fields = await fields_of(request, body, READER)
        texts, _ = read_texts(fields)
        check_limits(parts.settings.limits, texts)
        add_log_fields(request, texts=len(texts))
        work = parts.translation.detection.detect(texts, parts.fleet.registry.snapshot)
        detections = await while_connected(request, work)
    languages = average(texts, detections)[:MAX_LANGUAGES] or [None]
    return JsonBytesResponse(to_json([language_answer(each) for each in languages]))


def language_answer(detected: Detected | None) -> dict[str, object]:
    """Return the JSON of a text's language; None: no words."""
    if detected is None:
        return {"confidence": 0.0, "language": "en"}
    return {"confidence": round(detected.confidence * 100, 1), "language": code_of(detected.lang)}
