"""The calendar guard's benchmark: how references are changed."""

from __future__ import annotations

import random

import pytest

from apiserver.guards.calendar.changed_calendar import changed_calendar
from benchmarks.quality.alarms.calendar_alarms import CHANGES, alarm_row, changed, demanded, found_row
from benchmarks.quality.alarms.references import Rows
from shared.languages import LanguagePair

ROWS = Rows("en-de", [("on Mondays", "am Montag"), ("tomorrow", "morgen"), ("She sleeps.", "Sie schläft.")])


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "am Montag"),
        ("en", "in May"),
        ("fr", "hier"),
        ("es", "en verano"),
        ("ja", "3月に"),
        ("zh", "今天"),
        ("ko", "3월에"),
    ],
)
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_another_word(language: str, text: str, change: str) -> None:
    rng = random.Random(1)  # noqa: S311 - a sample
    (mention,) = demanded(text, language)
    output = changed(text, mention, language, change, rng)
    assert changed_calendar(text, output, LanguagePair(language, language))


def test_rows_count_alarms_and_finds() -> None:
    assert alarm_row(ROWS, 0)[:5] == ("en-de", "3", "2", "0.00", "0.0")
    assert found_row(ROWS, 0) == ("en-de", "100.0 of 1", "100.0 of 1", "100.0 of 1", "100.0 of 1")
