"""A work item: its cost and lane."""

from __future__ import annotations

from shared.protocol.priority import CHARS_PER_UNIT, CONTEXT_CHARS_PER_UNIT, SHORT_UNITS, Lane, Priority
from tests.apiserver.work_items import work_of


def test_request_is_long_by_its_longest_text() -> None:
    assert work_of(["x" * SHORT_UNITS * CHARS_PER_UNIT] * 3, Priority.BULK).lane is Lane.BULK_SHORT
    assert work_of(["x", "x" * (SHORT_UNITS * CHARS_PER_UNIT + 1)], Priority.BULK).lane is Lane.BULK_LONG


def test_cost_is_by_characters_and_at_least_one_for_each_text() -> None:
    assert work_of(["x"] * 7).cost == 7.0
    assert work_of("x" * 3 * CHARS_PER_UNIT).cost == 3.0
    assert work_of(["x"] * 7, alternatives=3).cost == 28.0
    assert work_of("x" * 3 * CHARS_PER_UNIT, context="y" * CONTEXT_CHARS_PER_UNIT, alternatives=1).cost == 12.0
