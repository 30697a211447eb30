"""LibreTranslate: translations, detection, languages, and what its clients ask of a server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, cast

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic_core import to_json

from proxy.api.compat.codec import CompatApi, CompatRoute, SharedTranslate, TranslationCodec
from proxy.api.compat.languages import (
    UnsupportedLanguageError,
    english_name,
    known_targets,
    parse_code,
    served_list,
    tag_of,
)
from proxy.api.compat.text_lists import average, build_request, translate_list
from proxy.api.http_exchange import exchange_of
from proxy.context import ProxyContext, context
from proxy.exchange.exchange import WaitPolicy
from proxy.exchange.fields import BodyFormat, Fields, receive_fields
from proxy.exchange.key_places import KeyPlaces, as_bearer, find_key, has_fields, has_member
from proxy.exchange.peer import Peer
from proxy.exchange.translation_run import TranslationRun
from proxy.fleet.snapshot import Snapshot
from proxy.keys.api_key import id_of
from proxy.keys.authenticator import WrongScopeError
from proxy.keys.usage import MINUTE_SECONDS
from proxy.routing.pivots import PivotOrder, pairs_of_kin
from shared.http.app_setup import Handler
from shared.http.problems import JSON, JsonBytesResponse, retry_headers
from shared.http.request_context import request_header
from shared.languages import CACHED_TAGS, language_and_script
from shared.parsing.form_body import MULTIPART, URLENCODED
from shared.parsing.json_reader import JsonReader, NoObjectError, media_type
from shared.protocol.answers import Detected, Translation
from shared.protocol.errors import (
    BadRequestError,
    LanguageUndetectedError,
    PairwayError,
    RateLimitedError,
    TooLargeError,
    UnknownPairError,
)
from shared.protocol.headers import parse_bearer
from shared.protocol.translate_request import AUTO, MAX_ALTERNATIVES, TextFormat

# --- errors: {"error": …}, with LibreTranslate's texts and statuses --------------------------------------------------

KEY_NEEDED: Final = "Please contact the server operator to get an API key"
KEY_INVALID: Final = "Invalid API key"
NO_OBJECT: Final = "Invalid JSON format"
SLOW_DOWN: Final = "Slowdown"
# Statuses that differ from ours.
STATUSES: Final[Mapping[str, int]] = dict.fromkeys(
    (
        "key-required",
        "unknown-pair",
        "request-timeout",
        "too-large",
        "unsupported-media",
        "invalid-request",
        "language-undetected",
    ),
    400,
)
_TEXTS: Final = {"key-required": KEY_NEEDED, "key-refused": KEY_INVALID}
_FORBIDDEN: Final = 403
_WEBLATE: Final = "Weblate/"
# Faults that pass. After these statuses, 401, 403 and 456 Weblate asks no more for half an hour, and shows nothing.
_SILENCING: Final = frozenset({429, 503})
_SERVER_ERROR: Final = 500


class RefusalError(BadRequestError, status=400, code="bad-request", title="The request cannot be read"):
    """A refusal in LibreTranslate's words."""


def render_error(request: Request, error: PairwayError) -> Response:
    """Render ``{"error": …}``; Weblate gets 500 for a fault that passes."""
    status, text = describe(error)
    agent = request_header(request, "user-agent") or ""
    if status in _SILENCING and agent.startswith(_WEBLATE):
        status = _SERVER_ERROR
    return JSONResponse({"error": text}, status, retry_headers(error))


def describe(error: PairwayError) -> tuple[int, str]:
    """Return an error's status and text."""
    status = STATUSES.get(error.code, error.http_status)
    match error:
        case UnsupportedLanguageError():
            return status, f"{error.value} is not supported"
        case WrongScopeError():
            return status, f"{KEY_INVALID}: {error.detail}"
        case NoObjectError():
            return status, NO_OBJECT
        case RateLimitedError() if (error.retry_after or 0) > MINUTE_SECONDS:
            # A used-up day or month is no flood: Mastodon reads 403 as a quota.
            return _FORBIDDEN, error.detail
        case RateLimitedError():
            return status, f"{SLOW_DOWN}: {error.detail}"
        case _:
            return status, _TEXTS.get(error.code, error.detail)


def missing(name: str) -> RefusalError:
    """Refuse a missing field."""
    return RefusalError(f"Invalid request: missing {name} parameter")


def over_limit(error: TooLargeError) -> RefusalError:
    """Return the error for too long a text or list."""
    return RefusalError(f"Invalid request: request ({error.size or 0}) exceeds text limit ({error.limit})")


def not_supported(value: object) -> RefusalError:
    """Refuse an unknown language."""
    return RefusalError(f"{str(value)[:40]} is not supported")


# --- languages -------------------------------------------------------------------------------------------------------

# Codes that clients compare exactly, by language and script.
_CODES: Final[Mapping[tuple[str, str], Sequence[str]]] = {
    ("zh", "Hans"): ("zh", "zh-CN", "zh-Hans"),
    ("zh", "Hant"): ("zh-HK", "zh-Hant", "zh-TW"),
    ("pt", "Latn"): ("pt", "pt-BR"),
    ("no", "Latn"): ("nb", "no"),
    ("he", "Hebr"): ("he", "iw"),
    ("fil", "Latn"): ("fil", "tl"),
}


async def serve_languages(request: Request) -> Response:
    """Answer ``GET /languages``; no key is needed, and a body is ignored."""
    return JsonBytesResponse(await served_list(context(request), _rendered))


def _rendered(snapshot: Snapshot, pivots: PivotOrder | None) -> bytes:
    return to_json(list_languages(known_targets(snapshot, pivots)))


def list_languages(targets: Mapping[str, Sequence[str]]) -> list[dict[str, object]]:
    """Return each source language, under all its codes, with its targets."""
    targets_by_code: dict[str, set[str]] = {}
    for source, tags in targets.items():
        codes = {code for tag in tags for code in codes_of(tag)}
        for code in codes_of(source):
            targets_by_code.setdefault(code, set()).update(codes)
    return [
        {"code": code, "name": name_of(code), "targets": sorted(targets_by_code[code] - set(codes_of(code)))}
        for code in sorted(targets_by_code)
    ]


@lru_cache(maxsize=CACHED_TAGS)
def codes_of(code: str) -> tuple[str, ...]:
    """Return all codes that are listed for a language."""
    tag = tag_of(code) or code
    return tuple(dict.fromkeys((*_CODES.get(language_and_script(tag), ()), tag)))


def code_of(tag: str) -> str:
    """Return the code with which LibreTranslate names a detected language."""
    language, script = language_and_script(tag)
    return f"{language}-{script}" if language == "zh" else tag


def name_of(code: str) -> str:
    """Return the English name of a code's language."""
    return english_name(tag_of(code) or code)


# --- requests --------------------------------------------------------------------------------------------------------

_FORMATS: Final = {"text": TextFormat.TEXT, "html": TextFormat.HTML}
READER: Final = JsonReader(("q", "source", "target", "format", "alternatives", "api_key", "apiKey"))
# Subtitle Edit forgets the comma between these two members.
_GAP: Final = re.compile(rb'("target"\s*:\s*"[A-Za-z0-9_-]{1,35}")\s*("api_key"\s*:)')
# npm's client has the second.
_KEY_FIELDS: Final = ("api_key", "apiKey")


class Question(NamedTuple):
    """A checked request; ``source`` and ``target`` are tags, ``source_code`` is as sent."""

    texts: list[str]
    is_list: bool
    source: str
    source_code: str
    target: str
    text_format: TextFormat
    alternatives: int


def early_authorization(peer: Peer) -> str | None:
    """Return the header Authorization if it shows a key.

    Any other text may be for a web server in between, and the key in the body.
    """
    header = peer.headers.get("authorization")
    return header if id_of(parse_bearer(header) or "") else None


def find_authorization(peer: Peer, body: bytes) -> str | None:
    """Return ``api_key`` as the header Authorization, else that header.

    It is in the body, or without fields there in the query.
    """
    content_type = peer.headers.get("content-type", "")
    if has_fields(content_type, body):
        key = find_key(content_type, body, _KEY_FIELDS)
    else:
        key = find_key("", peer.query, _KEY_FIELDS)
    return as_bearer(key) or peer.headers.get("authorization")


def insert_comma(body: bytes) -> bytes:
    """Return a body with the comma that Subtitle Edit leaves out."""
    return _GAP.sub(rb"\1, \2", body, count=1)


BODY: Final = BodyFormat(READER, repair=insert_comma)
KEYS: Final = KeyPlaces(early_authorization, find_authorization)


def read_question(fields: Fields) -> Question:
    """Return the fields, checked in LibreTranslate's order; raise PairwayError."""
    members = fields.members
    texts, is_list = read_texts(fields)
    for name in ("source", "target"):
        if not members.get(name):
            raise missing(name)
    alternatives = _alternatives(members.get("alternatives"))
    source = _code(members["source"])
    tag = AUTO if source.lower() == AUTO else parse_code(source, "source")
    target = parse_code(_code(members["target"]), "target")
    text_format = _FORMATS.get(str(members.get("format") or TextFormat.TEXT))
    if text_format is None:
        raise RefusalError(f"{str(members['format'])[:40]} format is not supported")
    return Question(texts, is_list, tag, source, target, text_format, alternatives)


def _code(value: object) -> str:
    if not isinstance(value, str):
        raise not_supported(value)
    return value


def _alternatives(value: object) -> int:
    if value is None or value == "":
        return 0
    try:
        number = max(0, int(cast("str", value)))
    except (ValueError, TypeError):
        raise RefusalError("Invalid request: alternatives parameter is not a number") from None
    if number > MAX_ALTERNATIVES:
        raise RefusalError(f"Invalid request: alternatives parameter must be <= {MAX_ALTERNATIVES}")
    return number


def read_texts(fields: Fields) -> tuple[list[str], bool]:
    """Return the texts of ``q``, and whether it is a list."""
    value = fields.members.get("q")
    if not value:
        raise missing("q")
    is_list = isinstance(value, list)
    texts = cast("list[object]", value) if is_list else [value]
    if not all(isinstance(text, str) for text in texts):
        raise RefusalError("Invalid request: q parameter must be a string or a list of strings")
    if not fields.is_json:
        texts = [str(text).replace("\r\n", "\n").replace("\r", "\n") for text in texts]
    return cast("list[str]", texts), is_list


# --- translations ----------------------------------------------------------------------------------------------------


async def answer_translate(run: TranslationRun, fields: Fields) -> bytes:
    """Return the answer to ``POST /translate``, with ``q``, ``source`` and ``target``."""
    question = read_question(fields)
    options: dict[str, object] = {}
    if question.text_format is TextFormat.HTML:
        options["format"] = TextFormat.HTML
    elif question.alternatives:
        options["alternatives"] = question.alternatives
    try:
        native = build_request(run, question.texts, question.source, question.target, **options)
    except TooLargeError as error:
        raise over_limit(error) from None
    try:
        results = await translate_list(run, native, allows_foreign=True)
    except LanguageUndetectedError:
        text = "The language of q could not be detected among the served languages; set source"
        raise RefusalError(text) from None
    except UnknownPairError as error:
        raise _unknown_pair(run.parts.fleet.registry.snapshot, error, question.target) from None
    # The extension Translate Web Pages reads the language even if it named it itself.
    names_source = "-extension://" in run.peer.headers.get("origin", "")
    return _render(question, results, names_source=names_source)


def _unknown_pair(snapshot: Snapshot, error: UnknownPairError, target: str) -> RefusalError:
    """Return the error that names the unknown language, or else the pair."""
    source = error.pair.removesuffix(f"-{target}")
    if not pairs_of_kin(snapshot.by_source_kin, source):
        return not_supported(code_of(source))
    if not pairs_of_kin(snapshot.by_target_kin, target):
        return not_supported(code_of(target))
    named = (f"{english_name(tag)} ({code_of(tag)})" for tag in (target, source))
    return RefusalError(" is not available as a target language from ".join(named))


def _render(question: Question, results: Sequence[Translation], *, names_source: bool) -> bytes:
    is_list = question.is_list
    translations = [result.translation or "" for result in results]
    answer: dict[str, object] = {"translatedText": translations if is_list else translations[0]}
    if question.alternatives:
        alternatives = [_distinct(result) for result in results]
        answer["alternatives"] = alternatives if is_list else alternatives[0]
    if question.source == AUTO:
        languages = [language_answer(result.detected) for result in results]
        answer["detectedLanguage"] = languages if is_list else languages[0]
    elif names_source and not is_list:
        answer["detectedLanguage"] = {"confidence": 100.0, "language": question.source_code}
    return to_json(answer)


def _distinct(result: Translation) -> list[str]:
    return [text for text in dict.fromkeys(result.alternatives or ()) if text and text != result.translation]


# Mastodon and wagtail-localize wait for 10 s, Weblate for 20; none asks again.
TRANSLATE: Final = TranslationCodec(answer_translate, BODY, KEYS, WaitPolicy(queue_seconds=8.0))


def has_form_or_query(headers: Mapping[str, str], query: bytes) -> bool:
    """Return whether a request has a form, or ``q`` in the query."""
    content_type = headers.get("content-type", "")
    if content_type == JSON:
        return False
    kind = media_type(content_type)
    return kind in {URLENCODED, MULTIPART} or (kind != JSON and (query.startswith(b"q=") or b"&q=" in query))


def may_be_question(body: bytes) -> bool:
    """Return whether JSON may have ``q``, and not ``text``."""
    return has_member(body, "q") and not has_member(body, "text")


def is_question(fields: Fields) -> bool:
    """Return whether a request has ``q``, and not ``text``."""
    return "q" in fields.members and "text" not in fields.members


# --- detection, and the server ---------------------------------------------------------------------------------------

# Languages of an answer.
MAX_LANGUAGES: Final = 3
NO_SUGGESTIONS: Final = "Suggestions are disabled on this server."
NO_FILES: Final = "Files translation are disabled on this server."
# Milliseconds from typing to translating, in LibreTranslate's own web page.
FRONTEND_TIMEOUT: Final = 500


async def serve_detect(request: Request) -> Response:
    """Answer ``POST /detect``: the languages of one text, or of a list together.

    It counts as a request; no characters are charged.
    """
    with exchange_of(request) as exchange:
        parts = exchange.parts
        texts, _ = read_texts(await receive_fields(exchange, BODY, KEYS))
        try:
            parts.settings.limits.check(texts)
        except TooLargeError as error:
            raise over_limit(error) from None
        exchange.peer.add_log_fields(texts=len(texts))
        work = parts.translation.detection.detect(exchange.caller_identity, texts, parts.fleet.registry.snapshot)
        detections = await exchange.peer.while_connected(work)
    languages = average(texts, detections)[:MAX_LANGUAGES] or [None]
    return JsonBytesResponse(to_json([language_answer(each) for each in languages]))


def language_answer(detected: Detected | None) -> dict[str, object]:
    """Return the JSON of a text's language; None: no words."""
    if detected is None:
        return {"confidence": 0.0, "language": "en"}
    return {"confidence": round(detected.confidence * 100, 1), "language": code_of(detected.lang)}


async def serve_settings(request: Request) -> Response:
    """Answer ``GET /frontend/settings``."""
    parts = context(request)
    keys_on, target = parts.keys.authenticator.on, code_of(_default_target(parts))
    settings: dict[str, object] = {
        "apiKeys": keys_on,
        "charLimit": parts.settings.limits.text_chars,
        "filesTranslation": False,
        "frontendTimeout": FRONTEND_TIMEOUT,
        "keyRequired": keys_on,
        "language": {
            "source": {"code": AUTO, "name": "Auto Detect"},
            "target": {"code": target, "name": name_of(target)},
        },
        "suggestions": False,
        "supportedFilesFormat": [],
    }
    return JsonBytesResponse(to_json(settings))


def _default_target(parts: ProxyContext) -> str:
    """Return the first preferred pivot that is served, else any target."""
    targets = parts.fleet.registry.snapshot.by_target
    preferred = (tag for tag in parts.settings.preferred_pivots if tag in targets)
    return next(preferred, None) or next(iter(targets), "en")


async def serve_health(request: Request) -> Response:
    """Answer ``GET /health``: 200 while a pair can be served, else 503."""
    parts = context(request)
    if parts.process.draining.is_set():
        return _error(503, "This proxy is stopping.")
    if not any(parts.fleet.registry.snapshot.ready.values()):
        return _error(503, "No language pair is ready.")
    return JsonBytesResponse(b'{"status":"ok"}')


def _forbidden(text: str) -> Handler:
    async def refuse(_: Request) -> Response:
        return _error(_FORBIDDEN, text)

    return refuse


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)


# At the root ``/translate`` is shared with the native API, and the other paths are native or of nobody.
API: Final = CompatApi(
    "libretranslate",
    (
        CompatRoute(("POST",), "/translate", TRANSLATE.serve),
        CompatRoute(("POST",), "/detect", serve_detect),
        CompatRoute(("GET",), "/languages", serve_languages),
        CompatRoute(("GET",), "/frontend/settings", serve_settings),
        CompatRoute(("GET",), "/health", serve_health),
        CompatRoute(("POST",), "/suggest", _forbidden(NO_SUGGESTIONS)),
        CompatRoute(("POST",), "/translate_file", _forbidden(NO_FILES)),
    ),
    render_error,
    # Quotes inside a text are escaped, so the mark is a name or a whole value.
    shared_translate=SharedTranslate(TRANSLATE, has_form_or_query, may_be_question, is_question, b'"q"'),
)
