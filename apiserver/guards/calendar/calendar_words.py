"""Calendar words: what a language calls days, months and their parts.

The full names of weekdays and months are CLDR's. ``words/TAG.toml`` has the rest: words and phrases between commas, by what they
mean. A meaning is one or several readings, "|" between them; a reading has values that a text must all have, "+" between them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict

from apiserver.guards.numbers.vocabulary import EAST_ASIAN
from apiserver.protection.number_conventions import CACHED_TAGS, locale_of

_FOLDER: Final = Path(__file__).with_name("words")
LANGUAGES: Final = frozenset(file.stem for file in _FOLDER.glob("*.toml"))
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS: Final = tuple(f"m{number}" for number in range(1, 13))
# Shorter beginnings of a compound say nothing about it.
LEAST_PART: Final = 4
# Not of a code: SUMMER25.
WORD: Final = re.compile(r"[^\W\d_]++(?![\d_])")

Reading = frozenset[str]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


def _meanings(table: Mapping[str, str]) -> dict[str, tuple[Reading, ...]]:
    return {
        phrase: tuple(frozenset(reading.split("+")) for reading in meaning.split(" | "))
        for meaning, phrases in table.items()
        for phrase in _listed(phrases)
    }


_Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
_Meanings = Annotated[dict[str, tuple[Reading, ...]], BeforeValidator(_meanings)]


class _Ignored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    phrases: _Words


class CalendarFile(BaseModel):
    """A file of words.

    ``endings`` of the names of weekdays. ``first_names``: names of months that persons and places have too, and
    ``small_weak``: those that are other words in lower case and at a sentence's beginning. ``compounds``: words join up. ``hints`` only explain what the
    other text has. ``ignored``: greetings and holidays, which each language names in its own way; their words are hints.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    endings: _Words = ()
    first_names: _Words = ()
    small_weak: _Words = ()
    compounds: bool = False
    demanded: _Meanings
    hints: _Meanings
    ignored: _Ignored


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """Meaning of a phrase; ``is_short``: it counts beside a number only."""

    readings: tuple[Reading, ...]
    is_demanded: bool
    is_short: bool = False


@dataclass(frozen=True, slots=True)
class CalendarWords:
    """A language's phrases: words in lower case with single blanks between.

    ``longest``: words of the longest phrase, by its first. ``parts``: words that begin or end compounds, and ``part_ends`` their
    first and last LEAST_PART letters. ``pattern`` finds the
    phrases of a language without blanks.
    """

    phrases: Mapping[str, CalendarEntry]
    longest: Mapping[str, int]
    parts: Mapping[str, CalendarEntry]
    part_ends: frozenset[str]
    first_names: frozenset[str]
    small_weak: frozenset[str]
    pattern: re.Pattern[str] | None


@lru_cache(maxsize=CACHED_TAGS)
def calendar_words_of(language: str) -> CalendarWords | None:
    """Return a language's words, if it has a file."""
    if language not in LANGUAGES:
        return None
    file = CalendarFile.model_validate(tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8")))
    phrases = {_plain(phrase): CalendarEntry(readings, is_demanded=False) for phrase, readings in file.hints.items()}
    shorts = {
        _plain(name): CalendarEntry((frozenset({value}),), is_demanded=False, is_short=True)
        for name, value in _names(language, "abbreviated")
    }
    phrases = shorts | phrases
    for name, value in _names(language, "wide"):
        entry = CalendarEntry((frozenset({value}),), is_demanded=True)
        endings = file.endings if value in WEEKDAYS else ()
        phrases |= {_plain(name + ending): entry for ending in ("", *endings)}
    phrases |= {_plain(phrase): CalendarEntry(readings, is_demanded=True) for phrase, readings in file.demanded.items()}
    for phrase in map(_plain, file.ignored.phrases):
        inside = [reading for word in phrase.split(" ") if word in phrases for reading in phrases[word].readings]
        phrases[phrase] = CalendarEntry(tuple(inside), is_demanded=False)
    parts: dict[str, CalendarEntry] = {}
    if file.compounds:
        words = {
            phrase: entry
            for phrase, entry in phrases.items()
            if entry.readings and not entry.is_short and " " not in phrase
        }
        parts = {
            word: CalendarEntry(entry.readings, is_demanded=False)
            for word, entry in words.items()
            if len(word) >= LEAST_PART
        }
        phrases |= _joined(words)
    longest: dict[str, int] = {}
    for phrase in phrases:
        first, *others = phrase.split(" ")
        longest[first] = max(1 + len(others), longest.get(first, 0))
    pattern = None
    if language in EAST_ASIAN:
        pattern = re.compile("|".join(map(re.escape, sorted(phrases, key=len, reverse=True))))
    part_ends = frozenset(end for part in parts for end in (part[:LEAST_PART], part[-LEAST_PART:]))
    return CalendarWords(
        phrases, longest, parts, part_ends, frozenset(file.first_names), frozenset(file.small_weak), pattern
    )


def _names(language: str, width: str) -> Iterator[tuple[str, str]]:
    """Yield CLDR's names of weekdays and months.

    Months that are numerals, and weekdays of one character, are no words.
    """
    locale = locale_of(language)
    if locale is None or (language in EAST_ASIAN and width != "wide"):
        return
    yield from ((locale.days["format"][width][number], value) for number, value in enumerate(WEEKDAYS))
    if language not in EAST_ASIAN:
        yield from ((locale.months["format"][width][number], value) for number, value in enumerate(MONTHS, 1))


def _joined(words: Mapping[str, CalendarEntry]) -> dict[str, CalendarEntry]:
    """Return weekdays with halves of the day: Freitagabend."""
    joined: dict[str, CalendarEntry] = {}
    for day, entry in words.items():
        if entry.readings[0] <= frozenset(WEEKDAYS) and day.endswith(("tag", "woch", "abend")):
            for half, other in words.items():
                if other.readings[0] & frozenset({"morning", "noon", "afternoon", "evening", "night", "tomorrow"}):
                    readings = tuple(entry.readings[0] | each for each in other.readings)
                    joined[day + half] = CalendarEntry(readings, is_demanded=True)
    return joined


def _plain(phrase: str) -> str:
    return " ".join(WORD.findall(phrase.lower()))
