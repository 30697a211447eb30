"""Priorities: read from the header, ordered, capped; lanes."""

from __future__ import annotations

import pytest

from shared.protocol.errors import InvalidRequestError
from shared.protocol.priority import CHARS_PER_UNIT, PRIORITY_HEADER, SHORT_UNITS, Lane, Priority, is_long


@pytest.mark.parametrize("value", ["bulk", "Bulk", " BULK "])
def test_from_header_ignores_case_and_spaces(value: str) -> None:
    assert Priority.from_header(value) is Priority.BULK


def test_from_header_without_header_is_interactive() -> None:
    assert Priority.from_header(None) is Priority.INTERACTIVE


def test_from_header_refuses_unknown_priorities() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Priority.from_header("soon")
    assert caught.value.facts["errors"] == [
        {"field": PRIORITY_HEADER, "message": "must be one of interactive, standard, bulk"}
    ]


def test_rank_orders_the_most_urgent_first() -> None:
    assert sorted(Priority, key=lambda each: each.rank) == [Priority.INTERACTIVE, Priority.STANDARD, Priority.BULK]


@pytest.mark.parametrize(
    ("priority", "ceiling", "capped"),
    [
        (Priority.INTERACTIVE, Priority.STANDARD, Priority.STANDARD),
        (Priority.STANDARD, Priority.STANDARD, Priority.STANDARD),
        (Priority.BULK, Priority.STANDARD, Priority.BULK),
    ],
)
def test_at_most_never_raises_a_priority(priority: Priority, ceiling: Priority, capped: Priority) -> None:
    assert priority.at_most(ceiling) is capped


def test_lanes_order_by_priority_then_length() -> None:
    lanes = [Lane.of(priority, is_long=long) for priority in Priority for long in (False, True)]
    assert lanes == sorted(Lane)
    assert [lane.is_long for lane in Lane] == [False, True] * len(Priority)


def test_is_long_above_the_units_of_short_texts() -> None:
    assert not is_long(SHORT_UNITS * CHARS_PER_UNIT)
    assert is_long(SHORT_UNITS * CHARS_PER_UNIT + 1)
