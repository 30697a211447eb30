"""BCP-47 tags: canonical forms, names, fit of served languages.

Only this module knows langcodes, whose own caches are switched off: they keep each tag that they ever saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

import langcodes
from langcodes import Language, language_distance
from langcodes.tag_parser import LanguageTagError
from typing_extensions import override

# A fleet sees a few hundred spellings.
CACHED_TAGS: Final = 4096
# The least that RFC 5646 §4.4.1 asks for.
MAX_TAG_LENGTH: Final = 35
# ISO 639 only; langcodes also accepts "auto", "x-ours" and numbers.
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
# Language, script and region: there are few of them in use. Only these tags are remembered.
_PLAIN: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z]{4})?(?:[-_](?:[A-Za-z]{2}|[0-9]{3}))?")
# Valid tags, but of no single language.
NOT_A_LANGUAGE: Final = frozenset({"und", "mul", "zxx", "mis", "art"})
# CLDR separates them; models and clients do not.
SAME_LANGUAGE: Final = {"nb": "no"}


class _Forgetful(dict[Any, Any]):
    """Cache of langcodes that stays empty, whatever callers send."""

    @override
    def __setitem__(self, key: object, value: object) -> None:
        """Keep nothing."""


Language._INSTANCES = _Forgetful()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - langcodes has no switch for its caches
Language._PARSE_CACHE = _Forgetful()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
language_distance._DISTANCE_CACHE = _Forgetful()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


class InvalidTagError(ValueError):
    """The text is not a language's tag."""


class Closeness(IntEnum):
    """Fit of a served language; higher is better."""

    OTHER_REGION = 1  # pt-BR for pt-PT
    WIDER = 2  # de for de-AT
    EXACT = 3


class LanguagePair(NamedTuple):
    """Source and target language, as canonical tags."""

    source: str
    target: str

    def __str__(self) -> str:
        """Return the label in reports and metrics."""
        return f"{self.source}-{self.target}"


def canonical_tag(text: str) -> str:
    """Return the canonical form of a tag, without extensions.

    ``en_us`` → ``en-US``; ``deu`` → ``de``; ``fr-x-ours`` → ``fr``.

    Raises:
        InvalidTagError: the text names no language.
    """
    return _plain_tag(text) if _PLAIN.fullmatch(text) else _parsed_tag(text)


@lru_cache(maxsize=CACHED_TAGS)
def _plain_tag(text: str) -> str:
    return _parsed_tag(text)


def _parsed_tag(text: str) -> str:
    if len(text) > MAX_TAG_LENGTH:
        raise InvalidTagError(f"a language tag has at most {MAX_TAG_LENGTH} characters, not {len(text)}")
    try:
        parsed = Language.get(text)
    except LanguageTagError:
        raise InvalidTagError(f"{text!r} is not a BCP-47 language tag; examples: en, de-AT, zh-Hant") from None
    language = parsed.language
    if language is None or not _LANGUAGE.fullmatch(language) or language in NOT_A_LANGUAGE:
        raise InvalidTagError(f"{text!r} names no language; examples: en, de-AT, zh-Hant")
    return Language.make(language=language, script=parsed.script, territory=parsed.territory).to_tag()


@lru_cache(maxsize=CACHED_TAGS)
def language_of(tag: str) -> str:
    """Return a canonical tag's language, without script and region."""
    return tag.partition("-")[0]


def has_region(tag: str) -> bool:
    """Return whether a canonical tag has a region; scripts are longer."""
    return any(len(part) < 4 for part in tag.split("-")[1:])


@lru_cache(maxsize=CACHED_TAGS)
def language_and_script(tag: str) -> tuple[str, str]:
    """Return a tag's (macro)language and likely script: cmn → zh, Hans."""
    full = Language.get(tag).maximize()
    language = langcodes.standardize_tag(full.language or tag, macro=True)
    return SAME_LANGUAGE.get(language, language), full.script or ""


def is_registered(tag: str) -> bool:
    """Return whether a tag's parts are registered."""
    return Language.get(tag).is_valid()


def display_name(tag: str, language: str) -> str:
    """Return a tag's name in a language, with region; takes 1 ms."""
    return Language.get(tag).display_name(language)


def language_name(tag: str, language: str) -> str:
    """Return the name of a tag's language in another language."""
    return Language.get(tag).language_name(language)


def own_name(tag: str) -> str:
    """Return a tag's name in its own language."""
    return Language.get(tag).autonym()


def closeness(requested: str, served: str) -> Closeness | None:
    """Return the fit, or None if language or script differ.

    ``zh`` (Hans) fits ``zh-CN``, but not ``zh-TW``.
    """
    if requested == served:
        return Closeness.EXACT
    if language_and_script(requested) != language_and_script(served):
        return None
    return Closeness.OTHER_REGION if has_region(served) else Closeness.WIDER


def stand_in(requested: str, served: Iterable[str]) -> str | None:
    """Return the closest served language; of equal ones the shortest tag."""
    ranked = [(close, tag) for tag in served if (close := closeness(requested, tag)) is not None]
    return max(ranked, key=lambda item: (item[0], -len(item[1])))[1] if ranked else None


def stand_ins(requested: LanguagePair, served: Iterable[LanguagePair]) -> list[LanguagePair]:
    """Return the fitting served pairs, best first; the target's fit counts first."""
    ranked: list[tuple[Closeness, Closeness, LanguagePair]] = []
    for pair in served:
        target = closeness(requested.target, pair.target)
        if target is None:  # most pairs end here
            continue
        source = closeness(requested.source, pair.source)
        if source is not None:
            ranked.append((target, source, pair))
    ranked.sort(key=lambda item: (-item[0], -item[1], item[2]))
    return [pair for _, _, pair in ranked]
