"""Deadlines: read from the header, capped, passed on."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.deadline import Deadline
from shared.errors import InvalidRequestError


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_without_a_header_the_cap_holds() -> None:
    assert Deadline.from_header(None, 30, Clock()).remaining() == 30


def test_a_header_shortens_and_never_lengthens() -> None:
    assert Deadline.from_header("1500", 30, Clock()).remaining() == 1.5
    assert Deadline.from_header("999999999", 30, Clock()).remaining() == 30


@pytest.mark.parametrize(
    "value", ["", "0", "000", "-1", "+1", "1.0", " 1", "1 ", "1e3", "1_000", "١", "1" * 10, "x" * 99]
)
def test_a_header_that_is_no_positive_whole_number_is_refused(value: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Deadline.from_header(value, 30, Clock())
    assert caught.value.facts["errors"][0]["field"] == "X-Timeout-Ms"
    assert len(caught.value.detail) < 120


@given(st.text(max_size=30))
def test_any_header_is_a_deadline_or_refused(value: str) -> None:
    with suppress(InvalidRequestError):
        assert 0 < Deadline.from_header(value, 30, Clock()).remaining() <= 30


def test_time_runs_out_and_stays_out() -> None:
    clock = Clock()
    deadline = Deadline.after(2, clock)
    clock.now += 1.5
    assert (deadline.remaining(), deadline.header()) == (0.5, "500")
    clock.now += 100
    assert (deadline.remaining(), deadline.header()) == (0.0, "1")
    assert "2 s" in deadline.exceeded().detail


def test_the_header_passed_on_is_taken_by_the_next_server() -> None:
    clock = Clock()
    passed = Deadline.after(0.0001, clock).header()
    assert Deadline.from_header(passed, 30, clock).remaining() > 0
