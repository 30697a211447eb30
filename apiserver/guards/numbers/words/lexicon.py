"""Lexicon: a language's words of numbers, ready to be looked up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from apiserver.guards.numbers.mentions import HALF, Reading
from apiserver.guards.numbers.words.cldr import month_names
from apiserver.guards.numbers.words.ordinals import derive_ordinals
from apiserver.guards.numbers.words.roman import roman_value
from apiserver.guards.numbers.words.spellout import spell_numbers
from apiserver.guards.numbers.words.vocabularies import VOCABULARIES, Vocabulary
from apiserver.protection.number_conventions import CACHED_TAGS

# ICU spells these; larger ones are composed of them.
SPELLED: Final = range(100)
# Shorter beginnings of a word say nothing about it.
_MIN_PREFIX: Final = 3
# Longer words are no numbers.
_MAX_COMPOUND: Final = 64


class Role(StrEnum):
    """Role of a word in a number."""

    UNIT = "unit"  # below 100
    HUNDRED = "hundred"
    SCALE = "scale"
    ORDINAL = "ordinal"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Entry:
    """A word or phrase of a number; ``value`` is 0 for hints.

    ``is_weak``: alone it often means something else.
    """

    role: Role
    value: int
    readings: tuple[Reading, ...]
    is_weak: bool = False
    needs_capital: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Phrases of numbers in small letters, joined by single spaces.

    ``longest`` is the number of words of the longest phrase that begins with a word. ``compounds``: words join up.
    """

    phrases: Mapping[str, Entry]
    longest: Mapping[str, int]
    demanded: frozenset[str]
    joins: frozenset[str]
    compounds: frozenset[str]

    def may_begin(self, word: str, written: str) -> bool:
        """Return fast whether a number may begin so; ``written`` has capitals."""
        return (
            word in self.longest
            or word in self.joins
            or word[:_MIN_PREFIX] in self.compounds
            or roman_value(written) > 0
        )

    def compound(self, word: str) -> Entry | None:
        """Return the number that a word begins with (dreihundert, zehnjährig)."""
        if word[:_MIN_PREFIX] not in self.compounds or len(word) > _MAX_COMPOUND:
            return None
        if (value := self._compound_value(word)) is not None:
            is_ordinal = value > 0 and self.phrases.get(word) is None and word.endswith(("te", "ten", "ter", "tes"))
            return Entry(Role.ORDINAL if is_ordinal else Role.UNIT, value, ((value,),))
        for end in range(len(word) - 1, _MIN_PREFIX - 1, -1):
            entry = self.phrases.get(word[:end])
            if entry is not None and entry.role is not Role.HINT:
                half = (entry.value + HALF,), (entry.value, HALF), (entry.value, 30)
                return Entry(Role.HINT, 0, half if word.endswith("einhalb") else entry.readings)
        return None

    def _compound_value(self, word: str) -> int | None:
        """Return the value of hundreds and thousands in one word."""
        total = 0
        for name, scale in _COMPOUND_SCALES:
            head, found, tail = word.partition(name)
            if found:
                factor = self._below_hundred(head) if name == "hundert" else self._compound_value(head) or 1
                if factor is None:
                    return None
                total, word = total + factor * scale, tail.removeprefix("und")
        rest = 0 if total and not word else self._below_hundred(word)
        return None if rest is None or (rest == 1 and not total) else total + rest

    def _below_hundred(self, word: str) -> int | None:
        if not word:
            return 1
        entry = self.phrases.get(word)
        return entry.value if entry is not None and entry.role in {Role.UNIT, Role.ORDINAL} else None


_COMPOUND_SCALES: Final = (("tausend", 1000), ("hundert", 100))


@lru_cache(maxsize=CACHED_TAGS)
def lexicon_of(language: str) -> Lexicon | None:
    """Return the lexicon of a language; None if it has none."""
    vocabulary = VOCABULARIES.get(language)
    if vocabulary is None:
        return None
    phrases = _phrases(language, vocabulary)
    longest: dict[str, int] = {}
    for phrase in phrases:
        words = phrase.split(" ")
        longest[words[0]] = max(len(words), longest.get(words[0], 0))
    demanded = {
        phrase.split(" ")[0] for phrase, entry in phrases.items() if entry.role is not Role.HINT and not entry.is_weak
    }
    units = (word for word, entry in phrases.items() if entry.role is not Role.HINT) if vocabulary.compounds else ()
    compounds = frozenset(word[:_MIN_PREFIX] for word in units)
    return Lexicon(phrases, longest, frozenset(demanded), vocabulary.joins, compounds)


def _phrases(language: str, vocabulary: Vocabulary) -> dict[str, Entry]:
    cardinals = {**spell_numbers(language, SPELLED), **vocabulary.cardinals}
    ordinals = {**derive_ordinals(language, cardinals), **vocabulary.ordinals}
    phrases: dict[str, Entry] = {}
    for name, number in month_names(language):
        words = " ".join(re.findall(r"\w+", name.lower()))
        phrases[words] = Entry(Role.HINT, 0, ((number,),), needs_capital=vocabulary.capital_months)
    for word, readings in vocabulary.hints.items():
        phrases[word] = Entry(Role.HINT, 0, readings)
    for role, values in (
        (Role.ORDINAL, ordinals),
        (Role.UNIT, cardinals),
        (Role.HUNDRED, vocabulary.hundreds),
        (Role.SCALE, vocabulary.scales),
    ):
        for word, value in values.items():
            readings = (*vocabulary.hints.get(word, ()), (value,))
            is_weak = value < 2 or word in vocabulary.weak or word in vocabulary.hints
            phrases[word] = Entry(role, value, tuple(dict.fromkeys(readings)), is_weak=is_weak)
    return phrases
