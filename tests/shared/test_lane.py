"""Lanes: one definition for both servers."""

from __future__ import annotations

from shared.protocol.lanes import CHARS_PER_UNIT, SHORT_UNITS, Lane, is_long
from shared.protocol.priority import Priority


def test_classes_go_first_and_within_them_the_short_texts() -> None:
    lanes = [Lane.of(priority, is_long=long) for priority in Priority for long in (False, True)]
    assert lanes == sorted(Lane)
    assert [lane.is_long for lane in Lane] == [False, True] * len(Priority)


def test_a_text_is_long_beyond_what_short_ones_may_cost() -> None:
    assert not is_long(SHORT_UNITS * CHARS_PER_UNIT)
    assert is_long(SHORT_UNITS * CHARS_PER_UNIT + 1)
