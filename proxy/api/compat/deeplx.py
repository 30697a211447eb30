"""DeepLX: one text to one translation, and its form of DeepL's ``/v2/translate``."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic_core import to_json

from proxy.api.compat.codec import CompatApi, CompatRoute, TranslationCodec
from proxy.api.compat.languages import parse_code, parse_source
from proxy.api.compat.text_lists import build_request, translate_list
from proxy.exchange.exchange import WaitPolicy
from proxy.exchange.fields import BodyFormat, Fields, read_query
from proxy.exchange.key_places import KeyPlaces, as_bearer, header_key
from proxy.exchange.peer import Peer
from proxy.exchange.translation_run import TranslationRun
from shared.http.problems import retry_headers
from shared.parsing.json_reader import JsonReader
from shared.protocol.answers import Translation
from shared.protocol.errors import BadRequestError, InvalidRequestError, NotFoundError, PairwayError
from shared.protocol.headers import BEARER
from shared.protocol.translate_request import TextFormat

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


async def answer_translate(run: TranslationRun, fields: Fields) -> bytes:
    """Return the answer to ``POST /translate`` and ``/v1/translate``."""
    text = _text(fields)
    if not isinstance(text, str):
        raise InvalidRequestError([("text", "must be a string; /v2/translate takes a list")])
    result = await _translate(run, fields, text)
    answer: dict[str, object] = {
        "code": 200,
        "id": _FIRST_ID + zlib.crc32(run.peer.request_id.encode()),
        "data": result.translation,
        "alternatives": [],
        "source_lang": _source_code(result),
        "target_lang": fields.optional_string("target_lang").upper(),
        "method": "Free",
    }
    return to_json(answer)


async def answer_v2_translate(run: TranslationRun, fields: Fields) -> bytes:
    """Answer ``POST /v2/translate``: all texts, a line each, get one translation."""
    value = _text(fields)
    result = await _translate(run, fields, value if isinstance(value, str) else "\n".join(fields.strings("text")))
    translation = {"detected_source_language": _source_code(result), "text": result.translation}
    return to_json({"translations": [translation]})


def _text(fields: Fields) -> object:
    """Return the text or texts; raise PairwayError without any."""
    if fields.in_url:
        raise NoTextError  # no client has its text in the URL
    if "jsonrpc" in fields.members:
        raise BadRequestError(
            "This is a request of DeepL's web page (JSON-RPC), not of DeepLX. Zotero PDF Translate: choose "
            "DeepL(Custom) instead of DeepLX, with the address …/deeplx/translate?token=KEY."
        )
    text = fields.members.get("text")
    if not text:
        raise NoTextError
    return text


async def _translate(run: TranslationRun, fields: Fields, text: str) -> Translation:
    handling = fields.members.get("tag_handling") or ""
    if not isinstance(handling, str) or handling not in _FORMATS:
        raise BadRequestError("Invalid tag_handling value. Allowed values are 'html' and 'xml'.")
    source = parse_source(fields.optional_string("source_lang"), "source_lang")
    target = parse_code(fields.optional_string("target_lang"), "target_lang")
    native = build_request(run, [text], source, target, format=_FORMATS[handling])
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


def _authorization(peer: Peer) -> str | None:
    return as_bearer(header_key(peer, *_SCHEMES) or read_query(peer.query).text("token"))


BODY: Final = BodyFormat(READER)
KEYS: Final = KeyPlaces(_authorization)
# Zotero waits for 15 s on iOS, pdf2zh without end.
WAITS: Final = WaitPolicy(queue_seconds=10.0)
_TRANSLATE: Final = TranslationCodec(answer_translate, BODY, KEYS, WAITS)
_V2_TRANSLATE: Final = TranslationCodec(answer_v2_translate, BODY, KEYS, WAITS)
API: Final = CompatApi(
    "deeplx",
    (
        CompatRoute(("POST",), "/translate", _TRANSLATE.serve),
        CompatRoute(("POST",), "/v1/translate", _TRANSLATE.serve),
        CompatRoute(("POST",), "/v2/translate", _V2_TRANSLATE.serve),
    ),
    render_error,
)
