"""CLDR: months, also of languages that it lacks."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.words.cldr import month_names, unit_words


def test_months_have_long_and_short_names() -> None:
    assert {("March", 3), ("Mar", 3)} <= set(month_names("en"))
    assert ("März", 3) in set(month_names("de"))


@pytest.mark.parametrize("tag", ["tlh", "x", "", "en-!"])
def test_unknown_language_has_no_months(tag: str) -> None:
    assert not list(month_names(tag))


def test_units_are_written_out() -> None:
    assert {"seconds", "inches", "square"} <= unit_words("en")
    assert "sekunden" in unit_words("de")
    assert "s" not in unit_words("en")
    assert not unit_words("tlh")
