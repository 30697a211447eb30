"""BCP-47 language tags in, one canonical form out, and which served language can stand in for another."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

import langcodes
from langcodes.tag_parser import LanguageTagError

# The registry of BCP-47 knows about 8,000 languages; a fleet meets a few hundred spellings of them.
CACHED_TAGS: Final = 4096
# RFC 5646 §4.4.1 asks implementations to accept at least 35 characters; longer ones are never languages.
MAX_TAG_LENGTH: Final = 35
# What ISO 639 gives to languages; langcodes also lets reserved words ("auto"), private tags ("x-ours") and numbers pass.
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
# Valid tags that name no single language: undetermined, several, none, private "artificial" ones.
NOT_A_LANGUAGE: Final = frozenset({"und", "mul", "zxx", "mis", "art"})
# CLDR has stopped calling Norwegian a macrolanguage; models and clients write no and nb (Bokmål) for the same thing.
SAME_LANGUAGE: Final = {"nb": "no"}


class InvalidTagError(ValueError):
    """The text is not a BCP-47 tag of a language."""


class Closeness(IntEnum):
    """How well a served language stands in for a requested one; higher is better."""

    OTHER_REGION = 1  # pt-BR for pt-PT
    WIDER = 2  # de for de-AT
    EXACT = 3


class LanguagePair(NamedTuple):
    """A direction of translation between two canonical tags; a tuple, as tables by pair are asked several times a request."""

    source: str
    target: str

    def __str__(self) -> str:
        """The label used in reports, health, logs and metrics: ``en-de``."""
        return f"{self.source}-{self.target}"


@lru_cache(maxsize=CACHED_TAGS)
def canonical_tag(text: str) -> str:
    """Return the canonical form of a tag: any case, ``_`` or ``-``, aliases resolved, extensions dropped.

    ``EN`` → ``en``, ``en_us`` → ``en-US``, ``deu`` → ``de``, ``zh-hant-tw`` → ``zh-Hant-TW``.

    Raises:
        InvalidTagError: the text is no BCP-47 tag, or one that names no language.
    """
    if len(text) > MAX_TAG_LENGTH:
        raise InvalidTagError(f"a language tag has at most {MAX_TAG_LENGTH} characters, this has {len(text)}")
    try:
        parsed = langcodes.Language.get(text)
    except LanguageTagError:
        raise InvalidTagError(f"{text!r} is no BCP-47 language tag; examples: en, de-AT, zh-Hant") from None
    language = parsed.language
    if language is None or not _LANGUAGE.fullmatch(language) or language in NOT_A_LANGUAGE:
        raise InvalidTagError(f"{text!r} names no language; examples: en, de-AT, zh-Hant")
    return langcodes.Language.make(language=language, script=parsed.script, territory=parsed.territory).to_tag()


@lru_cache(maxsize=CACHED_TAGS)
def language_and_script(tag: str) -> tuple[str, str]:
    """The language (macrolanguage where CLDR has one: cmn → zh; nb → no) and its likely script."""
    full = langcodes.Language.get(tag).maximize()
    language = langcodes.standardize_tag(full.language or tag, macro=True)
    return SAME_LANGUAGE.get(language, language), full.script or ""


def closeness(requested: str, served: str) -> Closeness | None:
    """Say whether the served language can stand in for the requested one; None if it can not.

    Languages stand in for each other when language and script agree: ``de`` serves ``de-AT``, ``zh`` (which is
    written in Hans) serves ``zh-CN`` but neither ``zh-Hant`` nor ``zh-TW``.
    """
    if requested == served:
        return Closeness.EXACT
    if language_and_script(requested) != language_and_script(served):
        return None
    if langcodes.Language.get(served).territory is None:
        return Closeness.WIDER
    return Closeness.OTHER_REGION


def stand_in(requested: str, served: Iterable[str]) -> str | None:
    """Return the served language closest to the requested one, or None; ties go to the first in order."""
    ranked = [(close, tag) for tag in served if (close := closeness(requested, tag)) is not None]
    return max(ranked, key=lambda item: (item[0], -len(item[1])))[1] if ranked else None


def stand_ins(requested: LanguagePair, served: Iterable[LanguagePair]) -> list[LanguagePair]:
    """Return the served pairs that can stand in for the requested one, best first.

    The target's locale counts before the source's: who asks for ``pt-BR`` minds more what comes out.
    """
    ranked: list[tuple[Closeness, Closeness, LanguagePair]] = []
    for pair in served:
        target = closeness(requested.target, pair.target)
        if target is None:  # true of nearly all; a fleet of 100 languages has 10,000 pairs
            continue
        source = closeness(requested.source, pair.source)
        if source is not None:
            ranked.append((target, source, pair))
    ranked.sort(key=lambda item: (-item[0], -item[1], item[2]))
    return [pair for _, _, pair in ranked]
