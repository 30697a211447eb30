"""Translations for compatible APIs: native requests and their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fastapi import Request
from pydantic import ValidationError

from proxy.api.translation_run import TranslationRun
from proxy.context import context
from proxy.translation.results import read_results
from shared.http.request_context import add_response_headers
from shared.protocol.answers import Translation
from shared.protocol.errors import InvalidRequestError, UnusableOutputError
from shared.protocol.translate_request import TranslateRequest

# Codes of the warnings of all results, for APIs that have no place for them.
WARNINGS_HEADER: Final = "X-Pairway-Warnings"


def build_request(request: Request, texts: Sequence[str], source: str, target: str, **options: Any) -> TranslateRequest:
    """Return the native request for a list of texts, between two tags.

    Raises:
        TooLargeError: there are too many texts, or one is too long.
        InvalidRequestError: options exclude each other, or have a wrong value.
    """
    # One text as a client of the native API sends it: both share computations.
    text = texts[0] if len(texts) == 1 else list(texts)
    context(request).settings.limits.check(text)
    try:
        return TranslateRequest(text=text, source_lang=source, target_lang=target, **options)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise InvalidRequestError([(where, first["msg"])]) from None


async def translate(run: TranslationRun, translate_request: TranslateRequest) -> Sequence[Translation]:
    """Translate a list; add the warnings' codes to the response's headers.

    Raises:
        UnusableOutputError: a text has no usable translation, and these formats cannot say so for one text.
        PairwayError: as :meth:`TranslationRun.translate`.
    """
    results = read_results(translate_request, await run.translate(translate_request))
    codes = sorted({notice.code for result in results for notice in result.warnings})
    if codes:
        add_response_headers(run.request, {WARNINGS_HEADER: ", ".join(codes)})
    for number, result in enumerate(results):
        if result.translation is None:
            reason = "; ".join(notice.message for notice in result.warnings)
            raise UnusableOutputError(f"Text {number} has no usable translation: {reason}")
    return results
