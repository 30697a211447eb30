"""Calendar reader: the calendar words of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from apiserver.guards.calendar.calendar_words import (
    LEAST_PART,
    MONTHS,
    WORD,
    CalendarEntry,
    CalendarWords,
    Reading,
    calendar_words_of,
)

# Words of one phrase stand near each other: "après-midi", "l'été", "a. m.".
_BETWEEN: Final = frozenset({" ", "-", "'", "’", "\u00a0", "\u202f", ".", ". "})
# 3月 and 三月, but not 月曜日 and 3か月.
_EAST_ASIAN_MONTH: Final = re.compile(
    r"(?<![\d０-９])([1１][0-2０-２]|[0０]?[1-9１-９]|十[一二]?|[一二三四五六七八九])\s?(?:月(?![曜間间])|월)"
)
_NUMERALS: Final = {"十": 10, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
# 14.3. and 2026-03-14: each part may be the month.
_NUMERIC_DATE: Final = re.compile(r"(?<!\d)(?:\d{4}[./-])?(\d{1,2})[./-](\d{1,2})(?!\d)")
_TWELVE: Final = re.compile(r"(?<!\d)(?:12|0?0[:.]00|24)(?!\d)")
# What stands before a month that is no person's name.
_DATE_BEFORE: Final = re.compile(
    r"(?:\b(?:in|on|of|since|until|till|by|from|to|last|next|this|every|early|late|mid|and|or|before|after|between|im|ab|bis|seit|de|en|del"
    r"|a|desde|hasta|este|para)|\d(?:st|nd|rd|th|\.)?,?)[\s-]$",
    re.IGNORECASE,
)
# Frau Sommer, Mr Friday.
_TITLE_BEFORE: Final = re.compile(
    r"\b(?:Herrn?|Frau|Fräulein|Mr|Mrs|Ms|Miss|Dr|Prof|M|Mme|Monsieur|Madame|Sra?|[Ss]eñora?|Don|Doña)\.? $"
)
# "May I come in?"
_SENTENCE_BEFORE: Final = re.compile(r"(?:^|[.!?…:][\"'”’»)]*\s+)[\"'“„«‘(\s]*$")
_DAY_BEHIND: Final = re.compile(r",? \d{1,4}(?!\w)|\s?\d{1,2}(?:st|nd|rd|th)")
_SURNAME_BEHIND: Final = re.compile(r" [A-ZÀ-Þ][a-zß-ÿ]")  # Don and May Robison
_BEFORE_CHARS: Final = 12
# A half of the day beside a time belongs to the number: 20:00 is 8 in the evening (guards/numbers/dates_and_times.py).
_HALVES: Final = frozenset({"morning", "noon", "afternoon", "evening", "night", "midnight"})
_TIME_BEFORE: Final = re.compile(
    r"(?:\d|\b(?:uhr|heures?|h|horas?|o['’]clock|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|media|cuarto))(?:\s(?:uhr|heures?|h|horas?|o['’]clock))?,?\s?(?:in the|at|du|de l['’]|de la|de|am)?\s?$",
    re.IGNORECASE,
)
_TIME_BEHIND: Final = re.compile(r"\s?(?:um\s|at\s|à\s|a las?\s)?[\d０-９]")
_HOUR_CHARS: Final = 24
# Around a short name: "Mo., 3. Nov."
_DATE_CHARS: Final = 3


class CalendarMention(NamedTuple):
    """Calendar word of a text, and what it may mean.

    ``may_be_name``: a person or place may be called so.
    """

    start: int
    end: int
    readings: tuple[Reading, ...]
    is_demanded: bool
    may_be_name: bool = False


def read_calendar(text: str, language: str) -> Iterator[CalendarMention]:
    """Yield a text's calendar words; none of a language without a file."""
    words = calendar_words_of(language)
    if words is None:
        return
    yield from _numerals(text)
    if words.pattern is not None:
        yield from _east_asian_months(text)
        for match in words.pattern.finditer(text):
            entry = words.phrases[match.group()]
            if entry.readings:
                is_demanded = entry.is_demanded and not _is_beside_a_time(text, *match.span(), entry)
                yield CalendarMention(*match.span(), entry.readings, is_demanded)
        return
    tokens = [(match.group().lower(), *match.span()) for match in WORD.finditer(text)]
    place = 0
    while place < len(tokens):
        count, entry = _phrase_at(text, tokens, place, words)
        start, end = tokens[place][1], tokens[place + count - 1][2]
        if entry is not None and entry.readings and not (entry.is_short and not _is_beside_a_number(text, start, end)):
            yield _mention(text, start, end, entry, words)
        place += count


def _phrase_at(
    text: str, tokens: list[tuple[str, int, int]], place: int, words: CalendarWords
) -> tuple[int, CalendarEntry | None]:
    """Return a phrase's length in words, and its meaning."""
    word = tokens[place][0]
    for count in range(min(words.longest.get(word, 0), len(tokens) - place), 0, -1):
        phrase = tokens[place : place + count]
        gaps = (text[one[2] : two[1]] for one, two in pairwise(phrase))
        entry = words.phrases.get(" ".join(token for token, _, _ in phrase))
        if entry is not None and _BETWEEN.issuperset(gaps):
            return count, entry
    if words.part_ends.isdisjoint((word[:LEAST_PART], word[-LEAST_PART:])):
        return 1, None
    inside = [entry for part, entry in words.parts.items() if word.startswith(part) or word.endswith(part)]
    readings = tuple(reading for entry in inside for reading in entry.readings)
    return 1, CalendarEntry(readings, is_demanded=False) if inside and len(word) > LEAST_PART else None


def _mention(text: str, start: int, end: int, entry: CalendarEntry, words: CalendarWords) -> CalendarMention:
    written = text[start:end]
    word, is_demanded, may_be_name = written.lower(), entry.is_demanded, False
    if word in words.small_weak and (
        written[0].islower() or _SENTENCE_BEFORE.search(text[max(0, start - _BEFORE_CHARS) : start])
    ):
        is_demanded = False
    is_demanded = is_demanded and not _is_beside_a_time(text, start, end, entry)
    before = text[max(0, start - _BEFORE_CHARS) : start]
    if written[0].isupper() and _TITLE_BEFORE.search(before):
        return CalendarMention(start, end, entry.readings, is_demanded, may_be_name=True)
    if word in words.first_names and written[0].isupper():
        is_dated = _DATE_BEFORE.search(before) and not _SURNAME_BEHIND.match(text, end)
        may_be_name = not (is_dated or _DAY_BEHIND.match(text, end))
    return CalendarMention(start, end, entry.readings, is_demanded, may_be_name)


def _is_beside_a_number(text: str, start: int, end: int) -> bool:
    near = text[max(0, start - _DATE_CHARS) : start] + text[end : end + _DATE_CHARS]
    return any(map(str.isdecimal, near))


def _is_beside_a_time(text: str, start: int, end: int, entry: CalendarEntry) -> bool:
    if not _HALVES.issuperset(entry.readings[0]):
        return False
    is_behind = _TIME_BEFORE.search(text[max(0, start - _HOUR_CHARS) : start]) is not None
    return is_behind or _TIME_BEHIND.match(text[end : end + _HOUR_CHARS]) is not None


def _numerals(text: str) -> Iterator[CalendarMention]:
    """Yield what digits may mean: months of numeric dates, and twelve o'clock."""
    for match in _TWELVE.finditer(text):
        yield CalendarMention(*match.span(), (frozenset({"noon"}), frozenset({"midnight"})), is_demanded=False)
    for match in _NUMERIC_DATE.finditer(text):
        months = [MONTHS[int(part) - 1] for part in match.groups() if 1 <= int(part) <= len(MONTHS)]
        if months:
            yield CalendarMention(*match.span(), tuple(frozenset({month}) for month in months), is_demanded=False)


def _east_asian_months(text: str) -> Iterator[CalendarMention]:
    for match in _EAST_ASIAN_MONTH.finditer(text):
        written = match[1]
        number = int(written) if written.isdecimal() else sum(_NUMERALS[char] for char in written)
        yield CalendarMention(*match.span(), (frozenset({MONTHS[number - 1]}),), is_demanded=True)
