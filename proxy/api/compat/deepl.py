"""DeepL: translations, languages and usage, in versions 2 and 3."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic_core import to_json

from proxy.api.compat import deepl_glossaries
from proxy.api.compat.codec import CompatApi, CompatRoute, TranslationCodec
from proxy.api.compat.languages import (
    DEEPL_VARIANTS,
    CodedLanguage,
    parse_code,
    parse_source,
    served_by_code,
    served_list,
    source_code,
)
from proxy.api.compat.text_lists import build_request, translate_list
from proxy.api.http_exchange import exchange_of
from proxy.exchange.exchange import SMALL_SECONDS, RequestExchange, WaitPolicy
from proxy.exchange.fields import BodyFormat, Fields, query_fields, receive_fields
from proxy.exchange.key_places import KeyPlaces, as_bearer, find_key
from proxy.exchange.peer import Peer
from proxy.exchange.translation_run import TranslationRun
from proxy.fleet.snapshot import Snapshot
from proxy.glossaries.term_finder import TRUNCATED
from proxy.keys.api_key import ApiKey
from proxy.keys.usage import CHARS_PER_MONTH, UsageResult
from proxy.routing.language_lists import Render
from proxy.routing.pivots import PivotOrder
from shared.http.app_setup import Handler
from shared.http.problems import JsonBytesResponse, retry_headers
from shared.http.request_context import request_header
from shared.parsing.json_reader import JsonReader
from shared.protocol.answers import Translation
from shared.protocol.errors import BadRequestError, CharactersUsedError, KeyRequiredError, NotFoundError, PairwayError
from shared.protocol.translate_request import AUTO, MAX_TAGS, SentenceSplitting, TextFormat

# --- errors ----------------------------------------------------------------------------------------------------------

_INTERNAL: Final = 500
_QUOTA_EXCEEDED: Final = 456
# Errors for which DeepL has another status than we.
_STATUSES: Final[Mapping[str, int]] = {
    "key-required": 403,
    "unknown-pair": 400,
    "unusable-output": 400,  # a repeat fails again, and DeepL's clients repeat what is 500 or more
    "request-timeout": 504,
    "glossaries-full": _QUOTA_EXCEEDED,
}
_DEEPL_STATUSES: Final = frozenset({400, 403, 404, 405, 413, 415, 429, _QUOTA_EXCEEDED, 500, 503, 504})
# After one of these, Weblate does not ask again for 30 minutes.
_FOR_WEBLATE: Final[Mapping[int, int]] = {429: _INTERNAL, 503: _INTERNAL, _QUOTA_EXCEEDED: 400}
_WEBLATE: Final = "Weblate/"
_KEY_NEEDED: Final = "A key is needed: send the header Authorization: DeepL-Auth-Key KEY."


def status_of(error: PairwayError, user_agent: str) -> int:
    """Return DeepL's status for an error.

    Weblate gets 500 for faults that pass, and translates on where glossaries are too many.
    """
    if isinstance(error, CharactersUsedError):
        return _QUOTA_EXCEEDED
    status = _STATUSES.get(error.code, error.http_status)
    if status not in _DEEPL_STATUSES:
        status = 400 if status < _INTERNAL else 503
    return _FOR_WEBLATE.get(status, status) if user_agent.startswith(_WEBLATE) else status


def render_error(request: Request, error: PairwayError) -> Response:
    """Render an error as ``{"message": …}``."""
    message = _KEY_NEEDED if isinstance(error, KeyRequiredError) else error.detail
    status = status_of(error, request_header(request, "user-agent") or "")
    return JSONResponse({"message": message}, status, retry_headers(error))


# --- the fields of a translation -------------------------------------------------------------------------------------

MAX_GLOSSARIES: Final = 5
_SHOWN_CHARS: Final = 40
_SPLITTING: Final = {
    "0": SentenceSplitting.NONE,
    "1": SentenceSplitting.LINES_AND_SENTENCES,
    "nonewlines": SentenceSplitting.SENTENCES,
}
_FORMATS: Final = {"xml": TextFormat.XML, "html": TextFormat.HTML}
_MODEL_TYPES: Final = ("quality_optimized", "prefer_quality_optimized", "latency_optimized")
_VERSIONS: Final = ("v1", "v2")
# Malformed XML is refused, as by this version.
_VERSION_USED: Final = "v2"
_FORMALITIES: Final = ("default", "prefer_more", "prefer_less", "more", "less")
_TRUE: Final = ("1", "true")


@dataclass(slots=True)
class TextRequest:
    """A translation that DeepL's client asks for.

    ``source_code``: the source as sent, "" to detect it. ``item_members`` belong to each item of the answer.
    ``ignored`` had no effect.
    """

    texts: Sequence[str]
    source: str
    target: str
    source_code: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    item_members: dict[str, object] = field(default_factory=dict[str, object])
    xml: dict[str, object] = field(default_factory=dict[str, object])
    ignored: list[str] = field(default_factory=list[str])
    glossary_ids: list[str] = field(default_factory=list[str])


def read_text_request(fields: Fields) -> TextRequest:
    """Return the fields' request (null and "": none), or raise PairwayError."""
    members = fields.members
    texts = _texts(members.get("text"))
    target = parse_code(_code(members, "target_lang"), "target_lang")
    sent_source = _code(members, "source_lang", is_required=False)
    source = parse_source(sent_source, "source_lang")
    source_code = "" if source == AUTO else sent_source.strip().replace("_", "-").upper()
    request = TextRequest(texts, source, target, source_code)
    for name, value in members.items():
        if name in _READ or value in (None, "", []):
            continue
        reader = _READERS.get(name)
        if reader is None:
            request.ignored.append(name)
        else:
            reader(request, name, value)
    if request.xml:
        if request.options.get("format") is TextFormat.XML:
            request.options["xml"] = request.xml
        else:
            request.ignored += request.xml
    if request.glossary_ids and source == AUTO:
        raise BadRequestError("Use of a glossary requires the source_lang parameter to be specified.")
    return request


def _texts(value: object) -> Sequence[str]:
    if value is None or value == []:
        raise BadRequestError("Parameter 'text' not specified.")
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise BadRequestError(f"Value for 'text' not supported: item {index} is not a string.")
    return cast("list[str]", texts)


def _code(members: Mapping[str, object], name: str, *, is_required: bool = True) -> str:
    value = members.get(name)
    if value is None or value == "":
        if is_required:
            raise BadRequestError(f"Parameter '{name}' not specified.")
        return ""
    return _string(name, value)


def _unsupported(name: str, value: object, allowed: Sequence[str]) -> BadRequestError:
    shown = repr(value)[:_SHOWN_CHARS]
    return BadRequestError(f"Value for '{name}' not supported: {shown}; it must be {' or '.join(allowed)}.")


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _unsupported(name, value, ["one string"])
    return value


def _choice(name: str, value: object, allowed: Sequence[str]) -> str:
    # JSON may have 0 and 1 as numbers.
    choice = str(value).lower() if isinstance(value, str) or type(value) is int else ""
    if choice not in allowed:
        raise _unsupported(name, value, allowed)
    return choice


def _boolean(name: str, value: object) -> bool:
    return value if isinstance(value, bool) else _choice(name, value, (*_TRUE, "0", "false")) in _TRUE


def _list(name: str, value: object) -> list[str]:
    """Return a list's strings; in forms, they are also separated by commas."""
    each = cast("list[object]", value) if isinstance(value, list) else [value]
    strings = [_string(name, item) for item in each]
    if len(strings) + sum(string.count(",") for string in strings) > MAX_TAGS:
        raise BadRequestError(f"Value for '{name}' not supported: it has more than {MAX_TAGS} entries.")
    parts = [part.strip() for string in strings for part in string.split(",")]
    return [part for part in parts if part]


def _read_context(request: TextRequest, name: str, value: object) -> None:
    request.options["context"] = _string(name, value)


def _read_splitting(request: TextRequest, name: str, value: object) -> None:
    request.options["split_sentences"] = _SPLITTING[_choice(name, value, tuple(_SPLITTING))]


def _read_formality(request: TextRequest, name: str, value: object) -> None:
    formality = _choice(name, value, _FORMALITIES)
    if formality in {"more", "less"}:
        raise BadRequestError(f"Target language '{request.target.upper()}' doesn't support formality.")
    if formality != "default":
        request.ignored.append(name)


def _read_tag_handling(request: TextRequest, name: str, value: object) -> None:
    request.options["format"] = _FORMATS[_choice(name, value, tuple(_FORMATS))]
    request.item_members["tag_handling_version"] = _VERSION_USED


def _read_version(request: TextRequest, name: str, value: object) -> None:
    if _choice(name, value, _VERSIONS) != _VERSION_USED:
        request.ignored.append(name)


def _read_xml(request: TextRequest, name: str, value: object) -> None:
    request.xml[name] = _boolean(name, value) if name == "outline_detection" else _list(name, value)


def _read_model_type(request: TextRequest, name: str, value: object) -> None:
    _choice(name, value, _MODEL_TYPES)
    request.item_members["model_type_used"] = _MODEL_TYPES[0]


def _read_glossaries(request: TextRequest, name: str, value: object) -> None:
    if request.glossary_ids:
        raise BadRequestError("glossary_id and glossary_ids exclude each other.")
    request.glossary_ids = _list(name, value) if name == "glossary_ids" else [_string(name, value)]
    if len(request.glossary_ids) > MAX_GLOSSARIES:
        raise BadRequestError(f"glossary_ids has more than {MAX_GLOSSARIES} ids.")


def _check_boolean(_: TextRequest, name: str, value: object) -> None:
    _boolean(name, value)


def _refuse(_: TextRequest, name: str, __: object) -> None:
    raise BadRequestError(f"This server does not support '{name}'.")


# Read first, because others depend on them; ``enable_beta_languages`` has no effect at DeepL either.
_READ: Final = frozenset({"text", "target_lang", "source_lang", "auth_key", "enable_beta_languages"})
_READERS: Final[Mapping[str, Callable[[TextRequest, str, object], None]]] = {
    "show_billed_characters": _check_boolean,  # always answered
    "preserve_formatting": _check_boolean,  # always preserved
    "context": _read_context,
    "split_sentences": _read_splitting,
    "formality": _read_formality,
    "tag_handling": _read_tag_handling,
    "tag_handling_version": _read_version,
    "outline_detection": _read_xml,
    "splitting_tags": _read_xml,
    "non_splitting_tags": _read_xml,
    "ignore_tags": _read_xml,
    "model_type": _read_model_type,
    "glossary_id": _read_glossaries,
    "glossary_ids": _read_glossaries,
    "style_id": _refuse,
    "custom_instructions": _refuse,
    "translation_memory_id": _refuse,
}
# Members that are read.
READER: Final = JsonReader(_READ | _READERS.keys())

# --- translations ----------------------------------------------------------------------------------------------------

# DeepL's own answer for texts without words; its client for Node.js needs a code.
_DEFAULT_SOURCE: Final = "EN"
_KEY_FIELD: Final = "auth_key"


def find_authorization(peer: Peer, body: bytes) -> str | None:
    """Return the body's key as a bearer's, never one in the URL."""
    return as_bearer(find_key(peer.headers.get("content-type", ""), body, (_KEY_FIELD,)))


async def answer_translate(run: TranslationRun, fields: Fields) -> bytes:
    """Return the answer to ``POST /v2/translate``."""
    if fields.in_url:
        raise BadRequestError("The body is empty: send text and target_lang in it, as JSON or as a form.")
    asked = read_text_request(fields)
    deepl_glossaries.note_ignored(run, asked.ignored)
    native = build_request(run, asked.texts, asked.source, asked.target, **asked.options)
    truncated = False
    for glossary_id in asked.glossary_ids:  # the first ones' entries win
        native, is_cut = await run.add_terms(glossary_id, native, for_variants=True)
        truncated |= is_cut
    return render_results(asked, await translate_list(run, native, *[TRUNCATED] * truncated))


def render_results(asked: TextRequest, results: Sequence[Translation]) -> bytes:
    """Return the JSON with a translation for each text, in their order."""
    first = next((result.detected for result in results if result.detected is not None), None)
    default = asked.source_code or (_DEFAULT_SOURCE if first is None else source_code(first.lang))
    items: list[dict[str, object]] = []
    for text, result in zip(asked.texts, results, strict=True):
        detected = asked.source_code or (source_code(result.detected.lang) if result.detected else default)
        item = {"detected_source_language": detected, "text": result.translation, "billed_characters": len(text)}
        items.append(item | asked.item_members)
    return to_json({"translations": items})


KEYS: Final = KeyPlaces(deepl_glossaries.header_authorization, find_authorization)
TRANSLATE: Final = TranslationCodec(
    answer_translate,
    BodyFormat(READER),
    KEYS,
    # DeepL's client for Node.js and Weblate wait 5 s; that for Python gives up after 10 s, and repeats within 2 s.
    WaitPolicy(queue_seconds=4.0, linger_seconds=15.0),
)

# --- languages and usage: small requests that translate nothing ------------------------------------------------------

# The parameters of a list of languages, and a key.
SMALL_BODY: Final = BodyFormat(JsonReader((_KEY_FIELD, "type")), limit=4096)
# DeepL's own figure for keys without a limit.
UNLIMITED: Final = 1_000_000_000_000
# DeepL's clients refuse these as targets; version 3 and translations have them.
_NO_V2_TARGETS: Final = frozenset({"en", "pt"})
_ALL_VARIANTS: Final = frozenset(code for codes in DEEPL_VARIANTS.values() for code in codes)
_STABLE: Final = {"status": "stable"}
TEXTS: Final = "translate_text"
GLOSSARIES: Final = "glossary"
# What DeepL has, and this server has not.
_NOT_OFFERED: Final = frozenset({"translate_document", "voice", "write", "style_rules", "translation_memory"})


def _small(answer: Callable[[RequestExchange, Fields], Awaitable[bytes]]) -> Handler:
    """Return the handler of a request that is not counted."""

    async def serve(request: Request) -> Response:
        with exchange_of(request, SMALL_SECONDS, counts=False) as exchange:
            return JsonBytesResponse(await answer(exchange, await _receive_parameters(exchange)))

    return serve


async def _receive_parameters(exchange: RequestExchange) -> Fields:
    """Identify the caller; return the parameters in query and body.

    DeepL's client for Python sends a form with its GETs. Beside a body, the query's key is left out.
    """
    in_body = await receive_fields(exchange, SMALL_BODY, KEYS)
    if in_body.in_url:
        return in_body
    in_query = query_fields(exchange).members.items()
    return Fields({name: value for name, value in in_query if name != _KEY_FIELD} | dict(in_body.members))


async def answer_usage(exchange: RequestExchange, _: Fields) -> bytes:
    """Return the answer to ``/v2/usage``: the characters of a key this month."""
    key, meter = exchange.key, exchange.parts.keys.authenticator.meter
    return render_usage(key, None if key is None else await exchange.before_deadline(meter.usage(key)))


def render_usage(key: ApiKey | None, usage: UsageResult | None) -> bytes:
    """Return the JSON of a key's month; without keys, of nothing used."""
    windows = () if usage is None else usage.windows
    used = sum(window.used for window in windows if window.limit is CHARS_PER_MONTH)
    most = None if key is None else CHARS_PER_MONTH.of(key)
    return to_json({"character_count": used, "character_limit": UNLIMITED if most is None else most})


async def answer_v2_languages(exchange: RequestExchange, fields: Fields) -> bytes:
    """Return the answer to ``/v2/languages``, of the ``type`` asked for."""
    kind = fields.members.get("type", "source")
    if kind not in ("source", "target"):
        raise BadRequestError("Parameter 'type' is invalid. 'source' and 'target' are valid values.")
    return await served_list(exchange.parts, _v2_sources if kind == "source" else _v2_targets)


async def answer_glossary_pairs(exchange: RequestExchange, _: Fields) -> bytes:
    """Return the answer to ``/v2/glossary-language-pairs``: served pairs, without variants."""
    return await served_list(exchange.parts, deepl_glossaries.render_pairs)


async def answer_v3_languages(exchange: RequestExchange, fields: Fields) -> bytes:
    """Return the answer to ``/v3/languages``."""
    resource = fields.text("resource")
    if not resource and "product" in fields.members:
        raise BadRequestError("The 'product' parameter has been renamed to 'resource'.")
    if resource in _NOT_OFFERED:
        raise NotFoundError(f"This server does not offer {resource}.")
    render = _V3_RENDERERS.get(resource)
    if render is None:
        raise BadRequestError(f"Missing or invalid argument: resource must be {' or '.join(_V3_RENDERERS)}.")
    return await served_list(exchange.parts, render)


async def answer_v3_resources(_: RequestExchange, __: Fields) -> bytes:
    """Return the answer to ``/v3/languages/resources``."""
    features = [
        {"name": "auto_detection", "needs_source_support": True},
        {"name": "glossary", "needs_source_support": True, "needs_target_support": True},
        {"name": "tag_handling", "needs_source_support": True, "needs_target_support": True},
    ]
    return to_json([{"name": TEXTS, "features": features}, {"name": GLOSSARIES, "features": []}])


def _v2_sources(snapshot: Snapshot, pivots: PivotOrder | None) -> bytes:
    sources = (each for each in served_by_code(snapshot, pivots) if each.is_source)
    return to_json([{"language": each.code.upper(), "name": each.name} for each in sources])


def _v2_targets(snapshot: Snapshot, pivots: PivotOrder | None) -> bytes:
    served = served_by_code(snapshot, pivots)
    targets = (each for each in served if each.is_target and each.code not in _NO_V2_TARGETS)
    # No model knows formality.
    return to_json(
        [{"language": each.code.upper(), "name": each.name, "supports_formality": False} for each in targets]
    )


def _v3_texts(snapshot: Snapshot, pivots: PivotOrder | None) -> bytes:
    both = ("glossary", "tag_handling")
    served = served_by_code(snapshot, pivots)
    return to_json([_v3(each, ("auto_detection", *both) if each.is_source else both) for each in served])


def _v3_glossaries(snapshot: Snapshot, pivots: PivotOrder | None) -> bytes:
    """Return languages without variants, which glossaries do not tell apart."""
    served = served_by_code(snapshot, pivots)
    return to_json([_v3(each, ()) for each in served if each.code not in _ALL_VARIANTS])


def _v3(language: CodedLanguage, features: Sequence[str]) -> dict[str, object]:
    return {
        "lang": language.code,
        "name": language.name,
        "usable_as_source": language.is_source,
        "usable_as_target": language.is_target,
        "status": "stable",
        "features": dict.fromkeys(features, _STABLE),
    }


_V3_RENDERERS: Final[Mapping[str, Render]] = {TEXTS: _v3_texts, GLOSSARIES: _v3_glossaries}


def _not_offered(detail: str) -> Handler:
    async def refuse(_: Request) -> Response:
        raise NotFoundError(detail)

    return refuse


_NO_DOCUMENTS: Final = _not_offered("This server does not translate documents; send their texts to /v2/translate.")
_NO_WRITE: Final = _not_offered("This server translates texts and does not rephrase or correct them.")
API: Final = CompatApi(
    "deepl",
    (
        CompatRoute(("POST",), "/v2/translate", TRANSLATE.serve, at_root=True),
        CompatRoute(("GET", "POST"), "/v2/languages", _small(answer_v2_languages), at_root=True),
        CompatRoute(("GET",), "/v2/glossary-language-pairs", _small(answer_glossary_pairs), at_root=True),
        CompatRoute(("GET",), "/v3/languages", _small(answer_v3_languages), at_root=True),
        CompatRoute(("GET",), "/v3/languages/resources", _small(answer_v3_resources), at_root=True),
        CompatRoute(("GET", "POST"), "/v2/usage", _small(answer_usage), at_root=True),
        *deepl_glossaries.ROUTES,
        CompatRoute(("POST",), "/v2/document", _NO_DOCUMENTS, at_root=True),
        CompatRoute(("GET", "POST"), "/v2/document/{document}", _NO_DOCUMENTS, at_root=True),
        CompatRoute(("GET", "POST"), "/v2/document/{document}/result", _NO_DOCUMENTS, at_root=True),
        CompatRoute(("POST",), "/v2/write/rephrase", _NO_WRITE, at_root=True),
        CompatRoute(("POST",), "/v2/write/correct", _NO_WRITE, at_root=True),
    ),
    render_error,
    trace_header="X-Trace-ID",
)
