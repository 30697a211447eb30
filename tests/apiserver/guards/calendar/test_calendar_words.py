"""Words of the calendar guard: files that load, and weekdays and months that every language has."""

from __future__ import annotations

import pytest

from apiserver.guards.calendar.calendar_reader import read_calendar
from apiserver.guards.calendar.calendar_words import LANGUAGES, MONTHS, WEEKDAYS, calendar_words_of
from apiserver.protection.number_conventions import locale_of


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_full_names_are_demanded(language: str) -> None:
    locale = locale_of(language)
    assert locale is not None
    names = {value: locale.days["format"]["wide"][number] for number, value in enumerate(WEEKDAYS)}
    names |= {value: locale.months["format"]["wide"][number] for number, value in enumerate(MONTHS, 1)}
    for value, name in names.items():
        mentions = [each for each in read_calendar(f"x {name} x", language) if each.is_demanded]
        assert [each.readings for each in mentions] == [(frozenset({value}),)], name


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_has_the_same_values(language: str) -> None:
    words = calendar_words_of(language)
    assert words is not None
    values = {value for entry in words.phrases.values() for reading in entry.readings for value in reading}
    expected = {*WEEKDAYS, "spring", "summer", "autumn", "winter", "today", "yesterday", "tomorrow"}
    expected |= {"before-yesterday", "after-tomorrow", "morning", "noon", "afternoon", "evening", "night", "midnight"}
    assert expected - values == set()


def test_other_language_has_no_words() -> None:
    assert calendar_words_of("it") is None
    assert list(read_calendar("lunedì", "it")) == []


def test_short_name_counts_beside_a_number_only() -> None:
    assert list(read_calendar("So ist es im Di", "de")) == []
    assert [each.readings for each in read_calendar("Di, 3.", "de")] == [(frozenset({"tue"}),)]
