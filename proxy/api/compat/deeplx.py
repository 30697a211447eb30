"""DeepLX: one text to one translation, and its form of DeepL's ``/v2/translate``."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic_core import to_json

from proxy.api.compat.compat_api import CompatApi, CompatRoute
from proxy.api.compat.fields import Fields, fields_of, header_key, query_fields
from proxy.api.compat.language_codes import parse_code, parse_source
from proxy.api.compat.translations import build_request, translate_list
from proxy.api.translation_run import TranslationRun
from shared.http.problems import JsonBytesResponse, retry_headers
from shared.parsing.json_reader import JsonReader
from shared.protocol.answers import Translation
from shared.protocol.errors import BadRequestError, InvalidRequestError, NotFoundError, PairwayError
from shared.protocol.headers import BEARER
from shared.protocol.translate_request import TextFormat

# Zotero waits for 15 s on iOS, pdf2zh without end.
QUEUE_SECONDS: Final = 10.0
# Schemes of the header Authorization.
_SCHEMES: Final = (BEARER, "DeepL-Auth-Key")
READER: Final = JsonReader(("text", "source_lang", "target_lang", "tag_handling"))
_FORMATS: Final = {"": TextFormat.TEXT, "html": TextFormat.HTML, "xml": TextFormat.XML}
# DeepLX has only these statuses; all faults of its upstream are 503, which Subtitle Edit sends again.
_STATUSES: Final[Mapping[str, int]] = {
    "key-refused": 401,
    "unknown-pair": 400,
    "unsupported-media": 400,
    "invalid-request": 400,
    "language-undetected": 400,
    "replica-failed": 503,
    "unusable-output": 503,
    "deadline-exceeded": 503,
}
_UNAUTHORIZED: Final = 401
# DeepLX's ids are of this order.
_FIRST_ID: Final = 8_300_000_000
# DeepL's codes of source languages that are not the first part of our tag.
_SOURCE_CODES: Final = {"no": "NB", "fil": "TL"}


class NoTextError(NotFoundError, status=404, code="not-found", title="No text"):
    """The text is empty, for which DeepLX has this status."""

    def __init__(self) -> None:
        super().__init__("No text to translate")


async def serve_translate(request: Request) -> Response:
    """Answer ``POST /translate`` and ``/v1/translate``."""
    with TranslationRun(request) as run:
        fields = await _read(run)
        text = fields.members.get("text")
        if not text:
            raise NoTextError
        if not isinstance(text, str):
            raise InvalidRequestError([("text", "must be a string; /v2/translate takes a list")])
        result = await _translate(run, fields, text)
        answer: dict[str, object] = {
            "code": 200,
            "id": _FIRST_ID + zlib.crc32(request.scope["state"]["request_id"].encode()),
            "data": result.translation,
            "alternatives": [],
            "source_lang": _source_code(result),
            "target_lang": fields.optional_string("target_lang").upper(),
            "method": "Free",
        }
        return JsonBytesResponse(to_json(answer))


async def serve_v2_translate(request: Request) -> Response:
    """Answer ``POST /v2/translate``: all texts, a line each, get one translation."""
    with TranslationRun(request) as run:
        fields = await _read(run)
        value = fields.members.get("text")
        if not value:
            raise NoTextError
        text = value if isinstance(value, str) else "\n".join(fields.strings("text"))
        result = await _translate(run, fields, text)
        translation = {"detected_source_language": _source_code(result), "text": result.translation}
        return JsonBytesResponse(to_json({"translations": [translation]}))


async def _read(run: TranslationRun) -> Fields:
    """Identify the caller, and read the body's fields."""
    request = run.request
    key = header_key(request, *_SCHEMES) or query_fields(request).text("token")
    body = await run.receive(f"{BEARER} {key}" if key else None)
    fields = await fields_of(request, body, READER)
    run.queue_seconds = QUEUE_SECONDS
    if fields.in_url:
        raise NoTextError  # no client has its text in the URL
    if "jsonrpc" in fields.members:
        raise BadRequestError(
            "This is a request of DeepL's web page (JSON-RPC), not of DeepLX. Zotero PDF Translate: choose "
            "DeepL(Custom) instead of DeepLX, with the address …/deeplx/translate?token=KEY."
        )
    return fields


async def _translate(run: TranslationRun, fields: Fields, text: str) -> Translation:
    handling = fields.members.get("tag_handling") or ""
    if not isinstance(handling, str) or handling not in _FORMATS:
        raise BadRequestError("Invalid tag_handling value. Allowed values are 'html' and 'xml'.")
    source = parse_source(fields.optional_string("source_lang"), "source_lang")
    target = parse_code(fields.optional_string("target_lang"), "target_lang")
    native = build_request(run.request, [text], source, target, format=_FORMATS[handling])
    return (await translate_list(run, native))[0]


def _source_code(result: Translation) -> str:
    """Return the source language in DeepL's spelling; "" without words."""
    language = (result.source_lang or "").partition("-")[0]
    return _SOURCE_CODES.get(language, language.upper())


def render_error(_: Request, error: PairwayError) -> Response:
    """Render an error as ``{"code": status, "message": …}``."""
    status = _STATUSES.get(error.code, error.http_status)
    message = error.detail
    if status == _UNAUTHORIZED:
        why = "send it as ?token=KEY or Authorization: Bearer KEY" if error.code == "key-required" else error.detail
        message = f"Invalid access token: {why}"
    return JSONResponse({"code": status, "message": message}, status, retry_headers(error))


API: Final = CompatApi(
    "deeplx",
    (
        CompatRoute(("POST",), "/translate", serve_translate),
        CompatRoute(("POST",), "/v1/translate", serve_translate),
        CompatRoute(("POST",), "/v2/translate", serve_v2_translate),
    ),
    render_error,
)
