"""Languages in other APIs: codes both ways, names, and served ones."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from proxy.context import ProxyContext
from proxy.fleet.registry import Registry
from proxy.fleet.snapshot import Snapshot
from proxy.routing.language_lists import Render
from proxy.routing.pivots import PivotOrder, pivot_pairs
from proxy.routing.routes import PAIR_RETRY_SECONDS
from shared.languages import (
    CACHED_TAGS,
    MAX_TAG_LENGTH,
    InvalidTagError,
    canonical_tag,
    closeness,
    display_name,
    language_and_script,
)
from shared.protocol.errors import InvalidRequestError, PairUnavailableError
from shared.protocol.translate_request import AUTO

# Lists name the languages of a fleet, under several codes.
CACHED_NAMES: Final = 1024
# An API server without a report by then is taken as absent; a cold one reports within a minute.
MAX_START_SECONDS: Final = 300.0
# Codes that are no BCP-47 tag of their language, in lower case with hyphens.
ALIASES: Final = {
    "iw": "he",
    "tl": "fil",
    "jp": "ja",
    "zt": "zh-Hant",
    "zh-cht": "zh-Hant",
    "zh-chs": "zh-Hans",
    "pb": "pt-BR",
}


class UnsupportedLanguageError(InvalidRequestError, status=422, code="invalid-request", title="Invalid request"):
    """A code names no language; ``value`` is the code as sent, shortened."""

    def __init__(self, field: str, value: str) -> None:
        self.value = value[:40]
        super().__init__([(field, f"{self.value!r} is not a language code; examples: en, pt-BR, zh-Hant")])


def tag_of(code: str) -> str | None:
    """Return a code's canonical tag, None without one.

    Case does not matter, and ``_`` is ``-``.
    """
    if len(code) > MAX_TAG_LENGTH:
        return None
    normal = code.strip().replace("_", "-").lower()
    try:
        return canonical_tag(ALIASES.get(normal, normal))
    except InvalidTagError:
        return None


def parse_code(code: str, field: str) -> str:
    """Return the canonical tag of a code, or raise UnsupportedLanguageError."""
    tag = tag_of(code)
    if tag is None:
        raise UnsupportedLanguageError(field, code)
    return tag


def parse_source(code: str, field: str) -> str:
    """Return the tag as :func:`parse_code` does, AUTO for "" and auto."""
    return AUTO if code.strip().lower() in {"", AUTO} else parse_code(code, field)


@lru_cache(maxsize=CACHED_TAGS)
def extension_code(tag: str) -> str:
    """Return browser extensions' code: without script and region, but zh-CN or zh-TW."""
    language, script = language_and_script(tag)
    if language == "zh":
        return "zh-TW" if script == "Hant" else "zh-CN"
    return language


@lru_cache(maxsize=CACHED_NAMES)
def english_name(tag: str) -> str:
    """Return a language's name in English, such as Chinese (Traditional)."""
    return display_name(tag, "en")


class LanguagesUnknownError(PairUnavailableError, status=500, code="pair-unavailable", title="Languages not known yet"):
    """The fleet is starting, so a list of languages would be partial.

    Not 503: for that, Weblate stops asking for half an hour.
    """

    def __init__(self, why: str) -> None:
        super().__init__("The list of languages", why, retry_after=PAIR_RETRY_SECONDS)


async def served_list(parts: ProxyContext, render: Render) -> bytes:
    """Return the served languages in one form, or raise LanguagesUnknownError.

    Pairs whose replicas are away are listed while the fleet knows them. Clients keep the list for days, so it is never
    partial.
    """
    if why := _incomplete(parts):
        raise LanguagesUnknownError(why)
    return await parts.translation.language_lists.get(render, parts.fleet.registry.snapshot)


def known_targets(snapshot: Snapshot, pivots: PivotOrder | None) -> dict[str, list[str]]:
    """Return the targets of each source language, sorted; pivots included."""
    pairs = snapshot.ready.keys() | (pivot_pairs(snapshot, pivots) if pivots is not None else ())
    targets: dict[str, list[str]] = {}
    for pair in sorted(pairs):
        targets.setdefault(pair.source, []).append(pair.target)
    return targets


def silent_urls(registry: Registry) -> list[str]:
    """Return URLs of which no address ever reported, except retired services'."""
    reported = {
        name
        for url, names in registry.names.items()
        if (replica := registry.snapshot.replicas.get(url)) is not None and replica.report is not None
        for name in names
    }
    named = {name for names in registry.names.values() for name in names}
    return [
        url
        for url in registry.fleet_urls()
        if url in named and url not in reported and not registry.expected.is_retired(url)
    ]


def _incomplete(parts: ProxyContext) -> str | None:
    """Return why languages may be missing, or None."""
    registry, startup = parts.fleet.registry, parts.fleet.startup
    if not registry.swept.is_set():
        return "this proxy has not asked all API servers yet"
    if not registry.snapshot.ready:
        return "no API server has reported a language pair yet"
    if time.time() - parts.process.started_at > MAX_START_SECONDS:
        return None
    if silent := silent_urls(registry):
        return f"{len(silent)} of {len(registry.fleet_urls())} API servers have not reported yet"
    return None if startup.complete else f"{len(startup.missing)} language pairs have yet to start"


# --- DeepL's codes ------------------------------------------------------------------------------------------------------

# DeepL's codes where they differ from ours.
_DEEPL_CODES: Final = {"no": "nb", "fil": "tl", "cmn": "zh"}
# Targets that DeepL's clients need instead of, or beside, the language without a region.
DEEPL_VARIANTS: Final = {"en": ("en-GB", "en-US"), "pt": ("pt-BR", "pt-PT"), "zh": ("zh-Hans", "zh-Hant")}
_DEEPL_NAMES: Final = {
    "en-GB": "English (British)",
    "en-US": "English (American)",
    "nb": "Norwegian",
    "pt-BR": "Portuguese (Brazilian)",
    "pt-PT": "Portuguese (European)",
    "tl": "Tagalog",
    "zh-Hans": "Chinese (simplified)",
    "zh-Hant": "Chinese (traditional)",
}


class CodedLanguage(NamedTuple):
    """A language under DeepL's code, and how texts may use it."""

    code: str
    is_source: bool
    is_target: bool

    @property
    def name(self) -> str:
        """The name in English."""
        return _DEEPL_NAMES.get(self.code) or english_name(self.code)


@lru_cache(maxsize=CACHED_TAGS)
def source_code(tag: str) -> str:
    """Return DeepL's code of a detected language: upper case, no region."""
    return base_code(tag).upper()


@lru_cache(maxsize=CACHED_TAGS)
def deepl_code(tag: str) -> str:
    """Return DeepL's code of a whole tag: no → nb."""
    language, hyphen, rest = tag.partition("-")
    return f"{_DEEPL_CODES.get(language, language)}{hyphen}{rest}"


def coded_languages(targets: Mapping[str, Sequence[str]]) -> Sequence[CodedLanguage]:
    """Return the languages that translations accept, by code."""
    sources = {code for tag in targets for code in _source_codes(tag)}
    accepted = {code for tag in set(chain.from_iterable(targets.values())) for code in _target_codes(tag)}
    return [CodedLanguage(code, code in sources, code in accepted) for code in sorted(sources | accepted)]


def served_by_code(snapshot: Snapshot, pivots: PivotOrder | None) -> Sequence[CodedLanguage]:
    """Return the fleet's languages under DeepL's codes."""
    return coded_languages(known_targets(snapshot, pivots))


def base_code(tag: str) -> str:
    """Return DeepL's code of a tag's language alone."""
    language = tag.partition("-")[0]
    return _DEEPL_CODES.get(language, language)


def _source_codes(tag: str) -> set[str]:
    """Return the code of the language alone, if that is served."""
    base = base_code(tag)
    return {base} if _fits(base, tag) else {tag}


def _target_codes(tag: str) -> set[str]:
    base = base_code(tag)
    codes = {base} if _fits(base, tag) else set[str]()
    variants = {code for code in DEEPL_VARIANTS.get(base, ()) if _is_variant(code, tag)}
    if tag.partition("-")[0] != tag and not (base == "zh" and variants):
        codes.add(tag)
    return codes | variants


def _is_variant(code: str, tag: str) -> bool:
    """Return whether a tag serves a code: other regions' only in Chinese."""
    if not _fits(code, tag):
        return False
    return "-" not in tag or code == tag or code.startswith("zh-")


def _fits(code: str, tag: str) -> bool:
    return closeness(tag_of(code) or code, tag) is not None
