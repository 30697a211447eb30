"""Repeats: numbers that a translation has too often."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.changed_numbers import changed_numbers
from shared.languages import LanguagePair

EN_DE = LanguagePair("en", "de")


@pytest.mark.parametrize(
    ("source", "translation", "values"),
    [
        ("It weighs 23 kilos.", "Es wiegt 23 Kilo wie 23 Kilo.", ("23",)),
        ("It was moved to 11:15 a.m.", "Es wurde um 11:15 Uhr nach 11:15 Uhr verlegt.", ("11:15",)),
        ("There are twelve.", "Es sind 12 und 12 und 12.", ("twelve",)),
        ("It has 5 rooms and 5 doors.", "Es hat 5 Zimmer, 5 Türen und 5 Türen.", ("5",)),
    ],
)
def test_repeated_number_is_found(source: str, translation: str, values: tuple[str, ...]) -> None:
    assert changed_numbers(source, translation, EN_DE) == values


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("It has 5 rooms and 5 doors.", "Es hat 5 Zimmer und 5 Türen."),
        ("It has 5 rooms and five doors.", "Es hat 5 Zimmer und 5 Türen."),
        ("It has 5 rooms and 5 doors.", "Es hat je 5 Zimmer und Türen."),
        ("A pair of 2", "2 mal 2"),
        ("", "1"),
    ],
)
def test_number_as_often_as_in_the_source_is_right(source: str, translation: str) -> None:
    assert changed_numbers(source, translation, EN_DE) == ()
