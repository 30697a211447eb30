"""Neighbours: signs and words between two numbers."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.changed_numbers import changed_numbers
from apiserver.guards.numbers.checks.neighbours import changed_neighbours
from shared.languages import LanguagePair


@pytest.mark.parametrize(
    ("pair", "source", "translation", "values"),
    [
        ("en-fr", "We lost 5–1.", "Nous avons perdu 5 --1.", ("5–1",)),
        ("en-de", "We lost 5-2.", "Wir verloren 5 , 2.", ("5-2",)),
        ("fr-en", "On a perdu 5 à 2.", "We lost 5 at 2.", ("5", "2")),
        ("en-de", "They won 4 to 2.", "Sie gewannen 4 von 2.", ("4", "2")),
        ("en-fr", "My number is 700 6218.", "Mon numéro est le 700,6218.", ("700", "6218")),
        ("fr-en", "Il faut 1,2 kilo.", "We need 1 2 kilo.", ("1,2",)),
        ("en-de", "It weighs 2.5 kilos.", "Es wiegt 2 5 Kilo.", ("2.5",)),
    ],
)
def test_other_sign_between_two_numbers_is_found(
    pair: str, source: str, translation: str, values: tuple[str, ...]
) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == values


@pytest.mark.parametrize(
    ("pair", "source", "translation"),
    [
        ("en-de", "We lost 5–1.", "Wir verloren 5:1."),
        ("en-fr", "We lost 5-1.", "Nous avons perdu 5 à 1."),
        ("en-de", "We lost 1-5.", "Wir verloren 5 zu 1."),
        ("en-de", "It takes 3-4 days.", "Es dauert 3 oder 4 Tage."),
        ("en-de", "It takes 3-4 days.", "Es dauert drei bis vier Tage."),
        ("en-de", "from 5 to 10 euros", "von 5 Euro bis 10 Euro"),
        ("en-de", "from 9 to 17", "um 9 Uhr da und erst sehr lange danach, um 17 Uhr"),  # far apart
        ("fr-de", "1 250 et 12 500", "1.250 und 12.500"),
        ("en-fr", "on 14.3.2025", "le 14 3 2025"),
        ("en-fr", "It is 9.30.", "Il est 9.30."),
        ("en-it", "We lost 5–1.", "Abbiamo perso 5 x 1."),  # its words are unknown
        ("it-en", "Abbiamo perso 5–1.", "We lost 5 x 1."),
    ],
)
def test_numbers_that_stay_together_are_no_alarm(pair: str, source: str, translation: str) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == ()


@pytest.mark.no_cover
def test_many_numbers_are_compared_fast() -> None:
    text = "1-2 " * 50_000
    assert not list(changed_neighbours(text, text, LanguagePair("en", "de")))
