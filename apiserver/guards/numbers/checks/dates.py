"""Dates: changed months, and months and German days left as they were."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from apiserver.guards.numbers.mentions import NumberMention
from apiserver.guards.numbers.words.cldr import month_names
from apiserver.protection.number_conventions import CACHED_TAGS
from shared.languages import LanguagePair, language_of

_CAPITAL_MONTHS: Final = frozenset({"de", "en"})
# Shorter names are words of many languages: mar, mai.
_LEAST_LETTERS: Final = 4
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th|er|º)?"
# Am 21. in Oslo: a day of a month that is not said.
_GERMAN_DAY: Final = re.compile(
    r"(?<!\w)(?:am|zum|vom|den|dem|der) (?P<day>(?P<number>[1-9]|[12]\d|3[01])\.)(?=,? [a-zäöü])"
)
_ENGLISH_DAY: Final = re.compile(r"(?<![\w.,:])(?P<number>\d{1,2})(?P<ending>st|nd|rd|th)?(?![\w:]|[.,]\d)")
_WORD: Final = re.compile(r"[^\W\d_]+")


def changed_months(source: str, pair: LanguagePair, theirs: Sequence[NumberMention]) -> Iterator[tuple[int, int]]:
    """Yield dates whose month the translation lacks, also as a number."""
    pattern, numbers = _dates(pair.source), _months(pair.source)
    matches = [] if pattern is None else list(pattern.finditer(source))
    if not matches:
        return
    values = {value for mention in theirs for reading in mention.readings for value in reading}
    for match in matches:
        month = match["behind"] or match["before"]
        is_word = language_of(pair.source) in _CAPITAL_MONTHS and month[0].islower()  # they march 5 miles
        if not is_word and numbers[month.lower()] not in values:
            yield match.span()


def kept_months(source: str, translation: str, pair: LanguagePair) -> Iterator[tuple[int, int]]:
    """Yield dates whose month was copied, not translated."""
    pattern = _dates(pair.source)
    if pattern is None:
        return
    words: set[str] = set(_WORD.findall(translation))
    for match in pattern.finditer(source):
        month = match["behind"] or match["before"]
        if month in words and month.lower() not in _months(pair.target):
            yield match.span()


def lost_days(source: str, translation: str, pair: LanguagePair) -> Iterator[tuple[int, int]]:
    """Yield German days whose number English has without "th"."""
    if language_of(pair.source) != "de" or language_of(pair.target) != "en":
        return
    days = list(_GERMAN_DAY.finditer(source))
    if not days or not _months(pair.target).keys().isdisjoint(map(str.lower, _WORD.findall(translation))):
        return
    plain = {match["number"] for match in _ENGLISH_DAY.finditer(translation) if match["ending"] is None}
    full = {match["number"] for match in _ENGLISH_DAY.finditer(translation) if match["ending"] is not None}
    yield from (match.span("day") for match in days if match["number"] in plain - full)


@lru_cache(maxsize=CACHED_TAGS)
def _dates(tag: str) -> re.Pattern[str] | None:
    names = "|".join(sorted((name for name in _months(tag) if len(name) >= _LEAST_LETTERS), key=len, reverse=True))
    if not names:
        return None
    return re.compile(
        rf"(?<!\w)(?i:(?P<before>{names})) {_DAY}(?![\w%€$£]|[.,:]\d)"
        rf"|(?<![\w.,:]){_DAY}\.? (?:of |de )?(?i:(?P<behind>{names}))(?!\w)"
    )


@lru_cache(maxsize=CACHED_TAGS)
def _months(tag: str) -> Mapping[str, int]:
    """Return the months by their names in letters, short ones too."""
    return {name.lower(): number for name, number in month_names(tag) if name.isalpha()}
