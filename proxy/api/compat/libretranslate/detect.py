"""``POST /detect``: the languages of one text, or of a list together."""

from __future__ import annotations

import time
from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api import auth
from proxy.api.compat.fields import parse_fields, query_fields
from proxy.api.compat.libretranslate.languages import code_of
from proxy.api.compat.libretranslate.question import authorization_of, check_limits, read_texts
from proxy.api.compat.list_language import average
from proxy.context import context
from shared.http.body import read_body
from shared.http.disconnect import while_connected
from shared.http.problems import JsonBytesResponse
from shared.http.request_context import add_log_fields, request_header
from shared.protocol.answers import Detected
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline

# Languages of an answer.
MAX_LANGUAGES: Final = 3


async def serve_detect(request: Request) -> Response:
    """Answer ``POST /detect``.

    It counts as a request of the key; no characters are charged.
    """
    parts = context(request)
    settings, process = parts.settings, parts.process
    budget = process.keyless_body_budget if parts.keys.authenticator.on else process.body_budget
    with budget.reserve() as reservation:
        base = settings.time_limits.base
        deadline = Deadline.from_header(request_header(request, TIMEOUT_HEADER), base, time.monotonic)
        body = await read_body(request, settings.max_body_bytes, deadline, reservation)
        fields = await parse_fields(request, body) if body else query_fields(request)
        await auth.authenticate(request, deadline, authorization_of(request, fields))
        texts, _ = read_texts(fields)
        check_limits(settings.limits, texts)
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
