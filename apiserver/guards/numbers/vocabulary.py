"""Vocabulary: a language's words of numbers, from ICU, CLDR and ``words/``.

``words/TAG.toml`` has what the libraries lack: words between commas. A hint's readings are values, or lists of values that a
text must all have; "-" is a minus.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Final, TypeVar, cast

from icu4py.messageformat import MessageFormat
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from apiserver.guards.numbers.readings import HALF, Reading, Value
from apiserver.protection.number_conventions import CACHED_TAGS, locale_of

_FOLDER: Final = Path(__file__).with_name("words")
# Numerals are characters in these languages.
EAST_ASIAN: Final = frozenset({"ja", "ko", "zh"})
SPACED: Final = frozenset(file.stem for file in _FOLDER.glob("*.toml")) - EAST_ASIAN
# ICU spells these; larger ones are composed of them.
SPELLED: Final = range(100)
_SOFT_HYPHEN: Final = "\u00ad"
# Shorter beginnings of a word say nothing about it.
_MIN_PREFIX: Final = 3
_MAX_COMPOUND: Final = 64  # letters
_COMPOUND_SCALES: Final = (("tausend", 1000), ("hundert", 100))
_FIRST_WORD: Final = re.compile(r"[^\W\d_]{3,}")
# Roman numerals up to 399, with the endings of French ordinals.
_ROMAN: Final = re.compile(r"(?=[IVXLC])(C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))(?:er?|è?me|ième)?")
_ROMAN_VALUES: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_GERMAN_STEMS: Final = {1: "erst", 3: "dritt", 7: "siebt", 8: "acht"}
_FRENCH_STEMS: Final = {"cinq": "cinqu", "neuf": "neuv"}
_UnitNames = Mapping[str, Mapping[str, str | None]]


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split(", "))


def _by_word(table: Mapping[str, str]) -> dict[str, int]:
    return {word: int(number) for number, listed in table.items() for word in _words(listed)}


def _by_character(table: Mapping[str, str]) -> dict[str, int]:
    return {char: int(number) for number, chars in table.items() for char in chars}


def _hints(table: Mapping[str, list[Value | list[Value]]]) -> dict[str, tuple[Reading, ...]]:
    return {
        word: tuple(tuple(each) if isinstance(each, list) else (each,) for each in readings)
        for listed, readings in table.items()
        for word in _words(listed)
    }


_Words = Annotated[frozenset[str], BeforeValidator(_words)]
_Numbers = Annotated[dict[str, int], BeforeValidator(_by_word)]
_Characters = Annotated[dict[str, int], BeforeValidator(_by_character)]
_Hints = Annotated[dict[str, tuple[Reading, ...]], BeforeValidator(_hints)]


class _WordFile(BaseModel):
    """A file of words; ``hints`` only explain the other text's numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    hints: _Hints


class SpacedWords(_WordFile):
    """Words of a language with spaces.

    ``hundreds`` and ``scales`` multiply the number before them. ``weak`` words often mean something else. ``joins`` stand
    between hundreds and units. ``compounds``: numbers are one word. Behind ``amounts`` a point is a decimal sign.
    """

    weak: _Words
    joins: _Words
    amounts: _Words = frozenset()
    capital_months: bool = False
    compounds: bool = False
    cardinals: _Numbers = Field(default_factory=dict[str, int])
    hundreds: _Numbers
    scales: _Numbers
    ordinals: _Numbers = Field(default_factory=dict[str, int])


class EastAsianWords(_WordFile):
    """Numerals and words of Chinese, Japanese or Korean.

    Numerals are demanded from ``least`` on, if a counter stands behind them, ``other_before`` not before, and they begin none of
    ``other_words``: patterns of regular expressions. ``native_…``: Korean's own numbers, with their counters.
    """

    least: int
    counters: str
    other_before: str = ""
    other_words: str = ""
    native_counters: str = ""
    units: _Characters
    scales: _Characters
    native_tens: _Numbers = Field(default_factory=dict[str, int])
    native_units: _Numbers = Field(default_factory=dict[str, int])


WordFile = TypeVar("WordFile", bound=_WordFile)


def read_words(language: str, kind: type[WordFile]) -> WordFile:
    """Return a language's file, checked."""
    text = (_FOLDER / f"{language}.toml").read_text(encoding="utf-8")
    return kind.model_validate(tomllib.loads(text, parse_float=Decimal))


def spell_numbers(language: str, numbers: range) -> dict[str, int]:
    """Return numbers by ICU's words: in small letters, with spaces for hyphens."""
    message = MessageFormat("{number, spellout}", language)
    return {
        message.format({"number": number}).replace(_SOFT_HYPHEN, "").replace("-", " ").lower(): number
        for number in numbers
    }


def month_names(tag: str) -> Iterator[tuple[str, int]]:
    """Yield months' names, short ones without full stop, and numbers."""
    if (locale := locale_of(tag)) is None:
        return
    for context, width in product(("format", "stand-alone"), ("wide", "abbreviated")):
        for number, name in locale.months[context][width].items():
            yield name.rstrip("."), number


@lru_cache(maxsize=CACHED_TAGS)
def unit_words(tag: str) -> frozenset[str]:
    """Return the first words of units' names, such as seconds."""
    if (locale := locale_of(tag)) is None:
        return frozenset()
    names = (names.get("long") or "" for names in cast("_UnitNames", locale.unit_display_names).values())
    return frozenset(match.group().lower() for name in names if (match := _FIRST_WORD.match(name)) is not None)


def roman_value(word: str) -> int:
    """Return the value of roman numerals; 0 for other words."""
    match = _ROMAN.fullmatch(word)
    if match is None:
        return 0
    values = [_ROMAN_VALUES[char] for char in match.group(1)]
    return sum(-value if value < following else value for value, following in pairwise([*values, 0]))


def _german_ordinals(cardinal: str, number: int) -> tuple[str, ...]:
    stem = _GERMAN_STEMS.get(number) or cardinal + ("t" if number < 20 else "st")
    return tuple(stem + ending for ending in ("e", "en", "er", "es", "em", "ens"))


def _french_ordinals(cardinal: str, number: int) -> tuple[str, ...]:
    if number < 2:
        return ()
    head, space, last = cardinal.rpartition(" ")
    stem = _FRENCH_STEMS.get(last) or last.removesuffix("s" if last == "vingts" else "e")
    return tuple(f"{head}{space}{stem}{ending}" for ending in ("ième", "ièmes", "ièmement"))


# Of languages whose ordinals are not listed.
_ORDINALS: Final[Mapping[str, Callable[[str, int], tuple[str, ...]]]] = {"de": _german_ordinals, "fr": _french_ordinals}


class Role(StrEnum):
    """Role of a word in a number."""

    UNIT = "unit"  # below 100
    HUNDRED = "hundred"
    SCALE = "scale"
    ORDINAL = "ordinal"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Entry:
    """A word or phrase of a number; ``is_weak``: alone, often none."""

    role: Role
    value: int
    readings: tuple[Reading, ...]
    is_weak: bool = False
    needs_capital: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Phrases of numbers in small letters, joined by single spaces.

    ``longest``: words of the longest phrase, by its first. ``compounds``: beginnings of words that join up.
    """

    phrases: Mapping[str, Entry]
    longest: Mapping[str, int]
    demanded: frozenset[str]
    joins: frozenset[str]
    amounts: frozenset[str]
    compounds: frozenset[str]

    def may_begin(self, word: str, written: str) -> bool:
        """Return fast whether a number may begin so; ``written`` has capitals."""
        is_known = word in self.longest or word in self.joins or word[:_MIN_PREFIX] in self.compounds
        return is_known or roman_value(written) > 0

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


@lru_cache(maxsize=CACHED_TAGS)
def lexicon_of(language: str) -> Lexicon | None:
    """Return a language's lexicon, if it has one."""
    if language not in SPACED:
        return None
    words = read_words(language, SpacedWords)
    phrases = _phrases(language, words)
    longest: dict[str, int] = {}
    for phrase in phrases:
        first, *others = phrase.split(" ")
        longest[first] = max(1 + len(others), longest.get(first, 0))
    numbers = {phrase: entry for phrase, entry in phrases.items() if entry.role is not Role.HINT}
    demanded = frozenset(phrase.split(" ")[0] for phrase, entry in numbers.items() if not entry.is_weak)
    compounds = frozenset(word[:_MIN_PREFIX] for word in numbers) if words.compounds else frozenset[str]()
    return Lexicon(phrases, longest, demanded, words.joins, words.amounts, compounds)


def _phrases(language: str, words: SpacedWords) -> dict[str, Entry]:
    cardinals = {**spell_numbers(language, SPELLED), **words.cardinals}
    ordinals = dict(words.ordinals)
    if (derived := _ORDINALS.get(language)) is not None:
        derivations = {word: number for cardinal, number in cardinals.items() for word in derived(cardinal, number)}
        ordinals = derivations | ordinals
    phrases: dict[str, Entry] = {}
    for name, number in month_names(language):
        phrase = " ".join(re.findall(r"\w+", name.lower()))
        phrases[phrase] = Entry(Role.HINT, 0, ((number,),), needs_capital=words.capital_months)
    for word, readings in words.hints.items():
        phrases[word] = Entry(Role.HINT, 0, readings)
    for role, values in (
        (Role.ORDINAL, ordinals),
        (Role.UNIT, cardinals),
        (Role.HUNDRED, words.hundreds),
        (Role.SCALE, words.scales),
    ):
        for word, value in values.items():
            readings = (*words.hints.get(word, ()), (value,))
            is_weak = value < 2 or word in words.weak or word in words.hints
            phrases[word] = Entry(role, value, tuple(dict.fromkeys(readings)), is_weak=is_weak)
    return phrases
