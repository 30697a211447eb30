"""Mangled names: copies with another end, and words that only begin alike."""

from __future__ import annotations

import pytest

from apiserver.guards.names.mangled_names import mangled_names
from shared.languages import LanguagePair


def mangled(direction: str, source: str, output: str) -> list[str]:
    return list(mangled_names(source, output, LanguagePair(*direction.split("-"))))


@pytest.mark.parametrize(
    ("direction", "source", "output"),
    [
        ("de-en", "Anna arbeitet bei Hellwerk.", "Anna works at Hellwerk."),
        ("de-en", "Der Computer ist neu.", "The computer is new."),
        ("de-en", "Das Haus von Annas Bruder", "The house of Anna's brother"),
        ("de-en", "Die Regierung tagt.", "Registration is open."),  # too little in common
        ("de-fr", "Deutschland ist groß.", "L'Allemagne est grande."),
        ("de-en", "", ""),
        ("de-ja", "Hellwerk", "ヘルヴェルク"),
    ],
)
def test_other_words_are_no_alarm(direction: str, source: str, output: str) -> None:
    assert mangled(direction, source, output) == []


@pytest.mark.parametrize(
    ("direction", "source", "output", "expected"),
    [
        ("de-en", "Bartosz arbeitet bei Hellwerk.", "Bartosz works at Hellet.", ["Hellwerk"]),
        ("de-en", "Die Firma Nordhaus wächst.", "The company Nordhazu is growing.", ["Nordhaus"]),
        ("de-fr", "Er wohnt in Steinfurt.", "Il habite à Steinfurde.", ["Steinfurt"]),
    ],
)
def test_name_that_ends_otherwise_is_found(direction: str, source: str, output: str, expected: list[str]) -> None:
    assert mangled(direction, source, output) == expected


@pytest.mark.no_cover
def test_long_texts_are_compared_fast() -> None:
    assert not mangled("de-en", "Hellwerk " * 2_000, "A " * 5_000)
