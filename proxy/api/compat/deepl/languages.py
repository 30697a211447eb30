"""Languages under DeepL's codes: ``/v2/languages`` and ``/v3/languages``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.compat_api import CompatRoute
from proxy.api.compat.deepl.callers import receive_parameters, small_exchange
from proxy.api.compat.deepl.errors import json_answer
from proxy.api.compat.language_codes import english_name, tag_of
from proxy.api.compat.served_languages import known_targets, served_list
from proxy.fleet.snapshot import Snapshot
from proxy.routing.language_lists import Render
from proxy.routing.routes import Pivots
from shared.languages import CACHED_TAGS, closeness
from shared.protocol.errors import BadRequestError, NotFoundError

# DeepL's codes where they differ from ours.
_CODES: Final = {"no": "nb", "fil": "tl", "cmn": "zh"}
# Targets that DeepL's clients need instead of, or beside, the language without a region.
_VARIANTS: Final = {
    "en": ("en-GB", "en-US"),
    "pt": ("pt-BR", "pt-PT"),
    "zh": ("zh-Hans", "zh-Hant"),
}
# DeepL's clients refuse these as targets; version 3 and translations have them.
_NO_V2_TARGETS: Final = frozenset({"en", "pt"})
_NAMES: Final = {
    "en-GB": "English (British)",
    "en-US": "English (American)",
    "nb": "Norwegian",
    "pt-BR": "Portuguese (Brazilian)",
    "pt-PT": "Portuguese (European)",
    "tl": "Tagalog",
    "zh-Hans": "Chinese (simplified)",
    "zh-Hant": "Chinese (traditional)",
}
_STABLE: Final = {"status": "stable"}
TEXTS: Final = "translate_text"
GLOSSARIES: Final = "glossary"
# What DeepL has, and this server has not.
_NOT_OFFERED: Final = frozenset({"translate_document", "voice", "write", "style_rules", "translation_memory"})


class CodedLanguage(NamedTuple):
    """A language under DeepL's code, and how texts may use it."""

    code: str
    is_source: bool
    is_target: bool

    @property
    def name(self) -> str:
        """The name in English."""
        return _NAMES.get(self.code) or english_name(self.code)


@lru_cache(maxsize=CACHED_TAGS)
def source_code(tag: str) -> str:
    """Return DeepL's code of a detected language: upper case, no region."""
    return _base(tag).upper()


@lru_cache(maxsize=CACHED_TAGS)
def deepl_code(tag: str) -> str:
    """Return DeepL's code of a whole tag: no → nb."""
    language, hyphen, rest = tag.partition("-")
    return f"{_CODES.get(language, language)}{hyphen}{rest}"


def coded_languages(targets: Mapping[str, Sequence[str]]) -> Sequence[CodedLanguage]:
    """Return the languages that translations accept, by code.

    ``targets`` are those of each source.
    """
    sources = {code for tag in targets for code in _source_codes(tag)}
    accepted = {code for tag in set(chain.from_iterable(targets.values())) for code in _target_codes(tag)}
    return [CodedLanguage(code, code in sources, code in accepted) for code in sorted(sources | accepted)]


async def serve_v2_languages(request: Request) -> Response:
    """Answer ``/v2/languages``; ``type`` is in the query or the body."""
    with small_exchange(request) as exchange:
        fields = await receive_parameters(exchange)
    kind = fields.members.get("type", "source")
    if kind not in ("source", "target"):
        raise BadRequestError("Parameter 'type' is invalid. 'source' and 'target' are valid values.")
    return json_answer(request, await served_list(request, _v2_sources if kind == "source" else _v2_targets))


async def serve_glossary_pairs(request: Request) -> Response:
    """Answer ``/v2/glossary-language-pairs``: served pairs, without variants."""
    with small_exchange(request) as exchange:
        await receive_parameters(exchange)
    return json_answer(request, await served_list(request, _glossary_pairs))


async def serve_v3_languages(request: Request) -> Response:
    """Answer ``/v3/languages``."""
    with small_exchange(request) as exchange:
        fields = await receive_parameters(exchange)
    resource = fields.text("resource")
    if not resource and "product" in fields.members:
        raise BadRequestError("The 'product' parameter has been renamed to 'resource'.")
    if resource in _NOT_OFFERED:
        raise NotFoundError(f"This server does not offer {resource}.")
    render = _V3_RENDERERS.get(resource)
    if render is None:
        raise BadRequestError(f"Missing or invalid argument: resource must be {' or '.join(_V3_RENDERERS)}.")
    return json_answer(request, await served_list(request, render))


async def serve_v3_resources(request: Request) -> Response:
    """Answer ``/v3/languages/resources``."""
    with small_exchange(request) as exchange:
        await receive_parameters(exchange)
    features = [
        {"name": "auto_detection", "needs_source_support": True},
        {"name": "glossary", "needs_source_support": True, "needs_target_support": True},
        {"name": "tag_handling", "needs_source_support": True, "needs_target_support": True},
    ]
    return json_answer(request, to_json([{"name": TEXTS, "features": features}, {"name": GLOSSARIES, "features": []}]))


def _base(tag: str) -> str:
    language = tag.partition("-")[0]
    return _CODES.get(language, language)


def _source_codes(tag: str) -> set[str]:
    """Return the code of the language alone, if that is served."""
    base = _base(tag)
    return {base} if _fits(base, tag) else {tag}


def _target_codes(tag: str) -> set[str]:
    base = _base(tag)
    codes = {base} if _fits(base, tag) else set[str]()
    variants = {code for code in _VARIANTS.get(base, ()) if _is_variant(code, tag)}
    if tag.partition("-")[0] != tag and not (base == "zh" and variants):
        codes.add(tag)
    return codes | variants


def _is_variant(code: str, tag: str) -> bool:
    """Return whether a tag serves a target code.

    It serves those of other regions only in Chinese, whose codes have scripts.
    """
    if not _fits(code, tag):
        return False
    return "-" not in tag or code == tag or code.startswith("zh-")


def _fits(code: str, tag: str) -> bool:
    return closeness(tag_of(code) or code, tag) is not None


def _served(snapshot: Snapshot, pivots: Pivots | None) -> Sequence[CodedLanguage]:
    return coded_languages(known_targets(snapshot, pivots))


def _v2_sources(snapshot: Snapshot, pivots: Pivots | None) -> bytes:
    return to_json([_v2_source(each) for each in _served(snapshot, pivots) if each.is_source])


def _v2_targets(snapshot: Snapshot, pivots: Pivots | None) -> bytes:
    targets = (each for each in _served(snapshot, pivots) if each.is_target)
    return to_json([_v2_target(each) for each in targets if each.code not in _NO_V2_TARGETS])


def _glossary_pairs(snapshot: Snapshot, pivots: Pivots | None) -> bytes:
    pairs = {
        (_base(source), _base(target))
        for source, targets in known_targets(snapshot, pivots).items()
        for target in targets
        if _base(source) != _base(target)
    }
    listed = [{"source_lang": source, "target_lang": target} for source, target in sorted(pairs)]
    return to_json({"supported_languages": listed})


def _v2_source(language: CodedLanguage) -> dict[str, object]:
    return {"language": language.code.upper(), "name": language.name}


def _v2_target(language: CodedLanguage) -> dict[str, object]:
    # No model knows formality.
    return {"language": language.code.upper(), "name": language.name, "supports_formality": False}


def _v3_texts(snapshot: Snapshot, pivots: Pivots | None) -> bytes:
    both = ("glossary", "tag_handling")
    served = _served(snapshot, pivots)
    return to_json([_v3(each, ("auto_detection", *both) if each.is_source else both) for each in served])


def _v3_glossaries(snapshot: Snapshot, pivots: Pivots | None) -> bytes:
    """Return languages without variants, which glossaries do not tell apart."""
    return to_json([_v3(each, ()) for each in _served(snapshot, pivots) if each.code not in _ALL_VARIANTS])


def _v3(language: CodedLanguage, features: Sequence[str]) -> dict[str, object]:
    return {
        "lang": language.code,
        "name": language.name,
        "usable_as_source": language.is_source,
        "usable_as_target": language.is_target,
        "status": "stable",
        "features": dict.fromkeys(features, _STABLE),
    }


_ALL_VARIANTS: Final = frozenset(code for codes in _VARIANTS.values() for code in codes)
_V3_RENDERERS: Final[Mapping[str, Render]] = {
    TEXTS: _v3_texts,
    GLOSSARIES: _v3_glossaries,
}
ROUTES: Final = (
    CompatRoute(("GET", "POST"), "/v2/languages", serve_v2_languages, at_root=True),
    CompatRoute(("GET",), "/v2/glossary-language-pairs", serve_glossary_pairs, at_root=True),
    CompatRoute(("GET",), "/v3/languages", serve_v3_languages, at_root=True),
    CompatRoute(("GET",), "/v3/languages/resources", serve_v3_resources, at_root=True),
)
