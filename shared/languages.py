"""BCP-47 tags: canonical forms, and which served language fits a requested one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

import langcodes
from langcodes.tag_parser import LanguageTagError

# BCP-47 has about 8,000 languages; a fleet sees a few hundred spellings of tags.
CACHED_TAGS: Final = 4096
# RFC 5646 §4.4.1: implementations should accept at least 35 characters; no language needs more.
MAX_TAG_LENGTH: Final = 35
# Codes of ISO 639 only: langcodes also accepts reserved words ("auto"), private tags ("x-ours") and numbers.
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
# Valid tags of no single language: undetermined, several, none, uncoded, artificial.
NOT_A_LANGUAGE: Final = frozenset({"und", "mul", "zxx", "mis", "art"})
# CLDR no longer calls Norwegian a macrolanguage; models and clients use no and nb (Bokmål) for the same language.
SAME_LANGUAGE: Final = {"nb": "no"}


class InvalidTagError(ValueError):
    """The text is not a BCP-47 tag of a language."""


class Closeness(IntEnum):
    """Closeness of a served language to a requested one; higher is better."""

    OTHER_REGION = 1  # pt-BR for pt-PT
    WIDER = 2  # de for de-AT
    EXACT = 3


class LanguagePair(NamedTuple):
    """Source and target language, as canonical tags.

    A tuple, because each request looks up tables by pair several times.
    """

    source: str
    target: str

    def __str__(self) -> str:
        """Return the label in reports, health, logs and metrics: ``en-de``."""
        return f"{self.source}-{self.target}"


@lru_cache(maxsize=CACHED_TAGS)
def canonical_tag(text: str) -> str:
    """Return the canonical form of a tag, without extensions.

    ``EN`` → ``en``, ``en_us`` → ``en-US``, ``deu`` → ``de``, ``zh-hant-tw`` → ``zh-Hant-TW``.

    Raises:
        InvalidTagError: the text is not a BCP-47 tag, or names no language.
    """
    if len(text) > MAX_TAG_LENGTH:
        raise InvalidTagError(f"a language tag has at most {MAX_TAG_LENGTH} characters, not {len(text)}")
    try:
        parsed = langcodes.Language.get(text)
    except LanguageTagError:
        raise InvalidTagError(f"{text!r} is not a BCP-47 language tag; examples: en, de-AT, zh-Hant") from None
    language = parsed.language
    if language is None or not _LANGUAGE.fullmatch(language) or language in NOT_A_LANGUAGE:
        raise InvalidTagError(f"{text!r} names no language; examples: en, de-AT, zh-Hant")
    return langcodes.Language.make(language=language, script=parsed.script, territory=parsed.territory).to_tag()


@lru_cache(maxsize=CACHED_TAGS)
def language_and_script(tag: str) -> tuple[str, str]:
    """Return a tag's language and its likely script.

    The language is the macrolanguage if there is one: cmn → zh, nb → no.
    """
    full = langcodes.Language.get(tag).maximize()
    language = langcodes.standardize_tag(full.language or tag, macro=True)
    return SAME_LANGUAGE.get(language, language), full.script or ""


def closeness(requested: str, served: str) -> Closeness | None:
    """Return how well the served language fits the requested one, or None.

    It fits if language and script agree: ``de`` serves ``de-AT``; ``zh`` (in Hans) serves ``zh-CN``, but neither
    ``zh-Hant`` nor ``zh-TW``.
    """
    if requested == served:
        return Closeness.EXACT
    if language_and_script(requested) != language_and_script(served):
        return None
    if langcodes.Language.get(served).territory is None:
        return Closeness.WIDER
    return Closeness.OTHER_REGION


def stand_in(requested: str, served: Iterable[str]) -> str | None:
    """Return the served language closest to the requested one, or None.

    Of equally close languages the shortest tag wins, then the first.
    """
    ranked = [(close, tag) for tag in served if (close := closeness(requested, tag)) is not None]
    return max(ranked, key=lambda item: (item[0], -len(item[1])))[1] if ranked else None


def stand_ins(requested: LanguagePair, served: Iterable[LanguagePair]) -> list[LanguagePair]:
    """Return the served pairs that fit the requested one, best first.

    The target's locale counts before the source's, because clients care more about the output.
    """
    ranked: list[tuple[Closeness, Closeness, LanguagePair]] = []
    for pair in served:
        target = closeness(requested.target, pair.target)
        if target is None:  # most pairs end here; a fleet of 100 languages has 10,000
            continue
        source = closeness(requested.source, pair.source)
        if source is not None:
            ranked.append((target, source, pair))
    ranked.sort(key=lambda item: (-item[0], -item[1], item[2]))
    return [pair for _, _, pair in ranked]
