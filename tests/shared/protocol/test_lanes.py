"""Lanes: one definition for both servers."""

from __future__ import annotations

from shared.protocol.lanes import CHARS_PER_UNIT, SHORT_UNITS, Lane, is_long
from shared.protocol.priority import Priority


def test_lanes_order_by_priority_then_length() -> None:
    lanes = [Lane.of(priority, is_long=long) for priority in Priority for long in (False, True)]
    assert lanes == sorted(Lane)
    assert [lane.is_long for lane in Lane] == [False, True] * len(Priority)


def test_is_long_above_the_units_of_short_texts() -> None:
    assert not is_long(SHORT_UNITS * CHARS_PER_UNIT)
    assert is_long(SHORT_UNITS * CHARS_PER_UNIT + 1)
