"""Percents: numbers that lost their sign."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.changed_numbers import changed_numbers
from shared.languages import LanguagePair


@pytest.mark.parametrize(
    ("pair", "source", "translation", "values"),
    [
        ("de-en", "Wir brauchen 25 Prozent mehr Mehl.", "We need 25 percentage.", ("25 Prozent",)),
        ("en-fr", "It costs 20% more.", "Cela coûte 20 de plus.", ("20%",)),
        ("en-es", "twenty percent", "veinte", ("twenty percent",)),
    ],
)
def test_number_without_its_percent_is_found(pair: str, source: str, translation: str, values: tuple[str, ...]) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == values


@pytest.mark.parametrize(
    ("pair", "source", "translation"),
    [
        ("de-en", "Wir brauchen 25 Prozent mehr Mehl.", "We need 25 per cent more flour."),
        ("en-fr", "It costs 20% more.", "Cela coûte 20 % de plus."),
        ("en-de", "a 20 percent solution", "eine 20-prozentige Lösung"),
        ("en-ja", "20% of them", "その20パーセント"),
        ("en-de", "50 percent of them", "die Hälfte davon"),
        ("en-de", "20 of them", "20 davon"),
    ],
)
def test_percent_in_another_form_is_right(pair: str, source: str, translation: str) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == ()
