"""The numbers guard's benchmark: how references are changed."""

from __future__ import annotations

import random

import pytest

from apiserver.guards.numbers.changed_numbers import changed_numbers
from benchmarks.quality.alarms.number_alarms import CHANGES, alarm_row, changed, demanded, found_row
from benchmarks.quality.alarms.references import Rows
from shared.languages import LanguagePair

ROWS = Rows("en-de", [("Twelve cats at 8:05", "Zwölf Katzen um 8.05 Uhr"), ("She sleeps.", "Sie schläft.")])


@pytest.mark.parametrize(
    ("language", "text"), [("de", "um 8.05 Uhr"), ("de", "siebzig"), ("ja", "五人"), ("ko", "다섯 권")]
)
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_another_number(language: str, text: str, change: str) -> None:
    rng = random.Random(1)  # noqa: S311 - a sample
    (mention,) = demanded(text, language)
    output = changed(text, mention, language, change, rng)
    assert changed_numbers(text, output, LanguagePair(language, language))


def test_rows_count_alarms_and_finds() -> None:
    assert alarm_row(ROWS, 0)[:4] == ("en-de", "2", "50.0", "0.00")
    assert found_row(ROWS, 0) == ("en-de", "1", "100.0", "100.0")
