"""BCP-47 tags: canonical forms, fit of served languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

import langcodes
from langcodes.tag_parser import LanguageTagError

# A fleet sees a few hundred spellings.
CACHED_TAGS: Final = 4096
# The least that RFC 5646 §4.4.1 asks for.
MAX_TAG_LENGTH: Final = 35
# ISO 639 only; langcodes also accepts "auto", "x-ours" and numbers.
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
# Valid tags, but of no single language.
NOT_A_LANGUAGE: Final = frozenset({"und", "mul", "zxx", "mis", "art"})
# CLDR separates them; models and clients do not.
SAME_LANGUAGE: Final = {"nb": "no"}


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


@lru_cache(maxsize=CACHED_TAGS)
def canonical_tag(text: str) -> str:
    """Return the canonical form of a tag, without extensions.

    ``en_us`` → ``en-US``; ``deu`` → ``de``.

    Raises:
        InvalidTagError: the text names no language.
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
def language_of(tag: str) -> str:
    """Return a canonical tag's language, without script and region."""
    return tag.partition("-")[0]


def language_and_script(tag: str) -> tuple[str, str]:
    """Return a tag's (macro)language and likely script: cmn → zh, Hans."""
    full = langcodes.Language.get(tag).maximize()
    language = langcodes.standardize_tag(full.language or tag, macro=True)
    return SAME_LANGUAGE.get(language, language), full.script or ""


def closeness(requested: str, served: str) -> Closeness | None:
    """Return the fit, or None if language or script differ.

    ``zh`` (Hans) fits ``zh-CN``, but not ``zh-TW``.
    """
    if requested == served:
        return Closeness.EXACT
    if language_and_script(requested) != language_and_script(served):
        return None
    if langcodes.Language.get(served).territory is None:
        return Closeness.WIDER
    return Closeness.OTHER_REGION


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
