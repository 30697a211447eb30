"""CLDR: months and forms of numbers, also of languages that it lacks."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.words.cldr import format_number, month_names


def test_months_have_long_and_short_names() -> None:
    assert {("March", 3), ("Mar", 3)} <= set(month_names("en"))
    assert ("März", 3) in set(month_names("de"))


@pytest.mark.parametrize("tag", ["tlh", "x", "", "en-!", "de-Latn-DE"])
def test_unknown_language_has_plain_digits(tag: str) -> None:
    assert format_number(1250, tag) == ("1.250" if tag.startswith("de") else "1250")
    assert tag.startswith("de") or not list(month_names(tag))
