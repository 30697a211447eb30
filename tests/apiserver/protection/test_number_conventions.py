"""Number conventions: which numbers are copied, and how the target writes them."""

from __future__ import annotations

import pytest

from apiserver.protection.number_conventions import numbers_in
from shared.languages import LanguagePair


def targets(text: str, source: str = "en", target: str = "de") -> list[str]:
    return [number.target for number in numbers_in(text, LanguagePair(source, target))]


@pytest.mark.parametrize(
    ("text", "source", "target", "expected"),
    [
        ("We sold 1,250 books", "en", "de", ["1.250"]),
        ("Wir haben 1.250 Bücher", "de", "en", ["1,250"]),
        ("1,250,000 people", "en", "fr", ["1\u202f250\u202f000"]),
        ("1 250 livres", "fr", "de", ["1.250"]),
        ("at 8:05, gate 42.", "en", "de", ["8:05", "42"]),
        ("in 2004", "en", "fr", ["2004"]),
    ],
)
def test_copied_numbers(text: str, source: str, target: str, expected: list[str]) -> None:
    assert targets(text, source, target) == expected


@pytest.mark.parametrize(
    "text",
    [
        *[
            "1.250 books",
            "3.14",
            "version 1.2.3",
            "8:05 pm",
            "8:05 p.m.",
            "5-7",
            "14/3",
            "the 3rd",
            "5kg",
            "€50",
            "50%",
        ],
        *["1 apple", "0 errors", "RX-480", "-5", "1,25", "1,250 000", "3万"],
    ],
)
def test_what_may_mean_more_is_left_out(text: str) -> None:
    assert targets(text) == []


def test_languages_without_conventions_keep_groups_for_the_model() -> None:
    assert targets("We sold 1,250 books, 42 in all", "en", "tlh") == ["42"]


@pytest.mark.no_cover
@pytest.mark.parametrize("part", ["1", "1,250", "1,250,", "8:05", "1 ", "\ud800", ",", "1:"])
def test_hostile_texts_are_bearable(part: str) -> None:
    assert isinstance(targets(part * (200_000 // len(part))), list)
