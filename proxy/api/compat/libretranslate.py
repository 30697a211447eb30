"""LibreTranslate: ``/translate`` with ``q``, ``source`` and ``target``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic_core import to_json

from proxy.api.compat.compat_api import CompatApi, CompatRoute
from proxy.api.compat.fields import Fields, read_fields
from proxy.api.compat.language_codes import UnsupportedLanguageError, parse_code
from proxy.api.compat.translations import build_request, translate
from proxy.api.translation_run import TranslationRun
from shared.http.problems import JsonBytesResponse, retry_headers
from shared.protocol.answers import Translation
from shared.protocol.errors import BadRequestError, PairwayError
from shared.protocol.headers import BEARER
from shared.protocol.translate_request import AUTO

# LibreTranslate answers 400 to these errors of ours.
_BAD_REQUEST: Final = 400
_BAD_REQUEST_CODES: Final = frozenset(
    {
        *("key-required", "unknown-pair", "request-timeout", "too-large", "unsupported-media", "invalid-request"),
        "language-undetected",
    }
)


async def serve_translate(request: Request) -> Response:
    """Answer ``POST /translate``."""
    with TranslationRun(request) as run:
        fields = await read_fields(run)
        return JsonBytesResponse(await answer_translate(run, fields))


async def answer_translate(run: TranslationRun, fields: Fields) -> bytes:
    """Return the JSON answer to a translation's fields.

    Raises:
        PairwayError: a field is missing or wrong, the key is refused, or there is no translation.
    """
    if not run.is_authenticated:
        key = fields.text("api_key")
        await run.authenticate(f"{BEARER} {key}" if key else None)
    value = _required(fields, "q")
    source, target = str(_required(fields, "source")), str(_required(fields, "target"))
    texts = cast("list[str]", value) if isinstance(value, list) else [value]
    tag = AUTO if source.lower() == AUTO else parse_code(source, "source")
    native = build_request(run.request, cast("list[str]", texts), tag, parse_code(target, "target"))
    results = await translate(run, native)
    return _render(results, is_list=isinstance(value, list), detected=tag == AUTO)


def _required(fields: Fields, name: str) -> object:
    value = fields.members.get(name)
    if not value:
        raise BadRequestError(f"Invalid request: missing {name} parameter")
    return value


def _render(results: Sequence[Translation], *, is_list: bool, detected: bool) -> bytes:
    translations = [result.translation for result in results]
    answer: dict[str, object] = {"translatedText": translations if is_list else translations[0]}
    if detected:
        languages = [_detected(result) for result in results]
        answer["detectedLanguage"] = languages if is_list else languages[0]
    return to_json(answer)


def _detected(result: Translation) -> dict[str, object]:
    if result.detected is None:
        return {"confidence": 0.0, "language": "en"}
    return {"confidence": round(result.detected.confidence * 100, 1), "language": result.detected.lang}


def render_error(_: Request, error: PairwayError) -> Response:
    """Render an error as ``{"error": …}``."""
    status = _BAD_REQUEST if error.code in _BAD_REQUEST_CODES else error.http_status
    message = f"{error.value} is not supported" if isinstance(error, UnsupportedLanguageError) else error.detail
    return JSONResponse({"error": message}, status, retry_headers(error))


API: Final = CompatApi(
    "libretranslate",
    (CompatRoute(("POST",), "/translate", serve_translate),),
    render_error,
)
