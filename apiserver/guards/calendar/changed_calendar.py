"""Changed calendar words: compares a text with its translation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from apiserver.guards.calendar.calendar_reader import CalendarMention, read_calendar
from apiserver.guards.calendar.calendar_words import LANGUAGES
from apiserver.guards.calendar.foreign_months import kept_months
from shared.languages import LanguagePair, language_of

# More are a calendar, a timetable or nonsense.
MAX_MENTIONS: Final = 200
MAX_CHARS: Final = 10_000  # more than any segment has


def load_calendar(pairs: Iterable[LanguagePair]) -> None:
    """Load the pairs' words, so that no first text waits."""
    for pair in pairs:
        changed_calendar("1", "1", pair)


def changed_calendar(source: str, translation: str, pair: LanguagePair) -> tuple[str, ...]:
    """Return the changed calendar words, as the source writes them.

    If only the translation has others: the translation's. Of other languages, only months beside a day that were copied.
    """
    if max(len(source), len(translation)) > MAX_CHARS:
        return ()
    languages = language_of(pair.source), language_of(pair.target)
    if not LANGUAGES.issuperset(languages):
        return tuple(dict.fromkeys(kept_months(source, translation, pair)))
    ours, theirs = (
        list(read_calendar(text, each)) for text, each in zip((source, translation), languages, strict=True)
    )
    if max(len(ours), len(theirs)) > MAX_MENTIONS:
        return ()
    lost = [each for each in unmatched(ours, theirs) if not _is_kept_name(each, source, translation)]
    if lost:
        return tuple(dict.fromkeys(_texts(source, lost)))
    added = [each for each in unmatched(theirs, ours) if not _is_kept_name(each, translation, source)]
    return tuple(dict.fromkeys(_texts(translation, added)))


def unmatched(mentions: Iterable[CalendarMention], others: Sequence[CalendarMention]) -> list[CalendarMention]:
    """Return the demanded mentions of which the other text has no reading."""
    values = {value for other in others for reading in other.readings for value in reading}
    return [each for each in mentions if each.is_demanded and not any(map(values.issuperset, each.readings))]


def _is_kept_name(mention: CalendarMention, text: str, other: str) -> bool:
    """Recognise a name that the other text copies: Miss April."""
    return mention.may_be_name and text[mention.start : mention.end] in other


def _texts(text: str, mentions: Iterable[CalendarMention]) -> Iterator[str]:
    return (text[mention.start : mention.end] for mention in mentions)
