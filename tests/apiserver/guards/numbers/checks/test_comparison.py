"""Comparison: one matching reading is enough, in either direction."""

from __future__ import annotations

from apiserver.guards.numbers.checks.comparison import unmatched_numbers
from apiserver.guards.numbers.mentions import NumberKind, NumberMention, Reading


def mention(*readings: Reading, kind: NumberKind = NumberKind.DIGITS, plain: Reading | None = None) -> NumberMention:
    return NumberMention(0, 1, kind, readings, plain)


def test_one_reading_with_all_values_is_enough() -> None:
    number = mention((1250,), (1, 250))
    assert unmatched_numbers([number], [mention((1250,))], knows_words=True) == []
    assert unmatched_numbers([number], [mention((250,))], knows_words=True) == []
    assert unmatched_numbers([number], [mention((125,))], knows_words=True) == [number]


def test_hints_match_but_are_not_demanded() -> None:
    hint = mention((2,), kind=NumberKind.HINT)
    assert unmatched_numbers([hint], [], knows_words=True) == []
    assert unmatched_numbers([mention((2,))], [hint], knows_words=True) == []


def test_one_is_never_demanded() -> None:
    assert unmatched_numbers([mention((1,))], [], knows_words=True) == []


def test_small_numbers_need_known_words() -> None:
    small, large = mention((12,)), mention((47,))
    assert unmatched_numbers([small, large], [], knows_words=False) == [large]
    assert unmatched_numbers([small, large], [], knows_words=True) == [small, large]


def test_scale_may_be_a_word_that_is_unknown() -> None:
    scaled = mention((5_000_000,), plain=(5,))
    assert unmatched_numbers([scaled], [mention((5,))], knows_words=False) == []
    assert unmatched_numbers([scaled], [mention((5,))], knows_words=True) == [scaled]
