"""Roman numerals, with and without the endings of French ordinals."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.words.roman import roman_value


@pytest.mark.parametrize(
    ("word", "value"), [("XIX", 19), ("XIXe", 19), ("IV", 4), ("XLVIII", 48), ("Ier", 1), ("CXC", 190)]
)
def test_numeral_has_a_value(word: str, value: int) -> None:
    assert roman_value(word) == value


@pytest.mark.parametrize("word", ["", "xix", "IIII", "VX", "Xavier", "MIX", "I" * 10_000])
def test_other_words_have_none(word: str) -> None:
    assert roman_value(word) == 0
