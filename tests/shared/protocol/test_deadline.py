"""Deadlines: read from the header, capped, passed on."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.protocol.deadline import Deadline, TimeLimits
from shared.protocol.errors import InvalidRequestError
from tests.support.clock import HandClock


def test_deadline_without_header_is_the_cap() -> None:
    assert Deadline.from_header(None, 30, HandClock()).remaining() == 30


def test_header_shortens_and_never_lengthens() -> None:
    assert Deadline.from_header("1500", 30, HandClock()).remaining() == 1.5
    assert Deadline.from_header("999999999", 30, HandClock()).remaining() == 30
    assert Deadline.from_header(" 1500 \t", 30, HandClock()).remaining() == 1.5, (
        "white space around a value is none of it"
    )


@pytest.mark.parametrize(
    "value", ["", " ", "0", "000", "-1", "+1", "1.0", "1 1", "\n1", "1\u00a0", "1e3", "1_000", "١", "1" * 10, "x" * 99]
)
def test_header_must_be_a_positive_whole_number(value: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Deadline.from_header(value, 30, HandClock())
    assert caught.value.facts["errors"][0]["field"] == "X-Timeout-Ms"
    assert len(caught.value.detail) < 120


@given(st.text(max_size=30))
def test_any_header_is_a_deadline_or_refused(value: str) -> None:
    with suppress(InvalidRequestError):
        assert 0 < Deadline.from_header(value, 30, HandClock()).remaining() <= 30


def test_remaining_ends_at_zero() -> None:
    clock = HandClock()
    deadline = Deadline.after(2, clock)
    clock.now += 1.5
    assert (deadline.remaining(), deadline.header()) == (0.5, "500")
    clock.now += 100
    assert (deadline.remaining(), deadline.header()) == (0.0, "1")
    assert "2 s" in deadline.exceeded_error().detail


def test_header_is_read_by_the_next_server() -> None:
    clock = HandClock()
    passed = Deadline.after(0.0001, clock).header()
    assert Deadline.from_header(passed, 30, clock).remaining() > 0


LIMITS = TimeLimits(base=30, per_1000_chars=2, longest=60)


@pytest.mark.parametrize(
    ("chars", "seconds"),
    [(0, 30), (1, 30), (1000, 30), (1500, 31), (2000, 32), (16_000, 60), (16_001, 60), (10**9, 60)],
)
def test_time_limit_grows_beyond_1000_characters_to_the_longest(chars: int, seconds: float) -> None:
    assert LIMITS.seconds(chars) == seconds


def test_time_limit_without_growth_is_constant() -> None:
    assert TimeLimits(base=30, per_1000_chars=0, longest=600).seconds(10**9) == 30


def test_extended_counts_from_the_start() -> None:
    clock = HandClock()
    deadline = Deadline.from_header(None, 30, clock)
    clock.now += 20
    extended = deadline.extended(40)
    assert (extended.remaining(), extended.seconds) == (20, 40)
    assert "40 s" in extended.exceeded_error().detail


@pytest.mark.parametrize(("wanted", "given"), [("5000", 5), ("35000", 35), ("999999999", 40)])
def test_extended_never_exceeds_the_requested_time(wanted: str, given: float) -> None:
    deadline = Deadline.from_header(wanted, 30, HandClock())
    assert deadline.remaining() == min(given, 30)
    assert deadline.extended(40).remaining() == given


@given(st.integers(1, 10**9), st.integers(0, 10**7), st.integers(0, 10**7))
def test_time_limit_never_shrinks_with_characters(wanted: int, chars: int, more: int) -> None:
    deadline = Deadline.from_header(str(wanted)[:9], LIMITS.base, HandClock())
    short, long = (deadline.extended(LIMITS.seconds(size)).remaining() for size in (chars, chars + more))
    assert deadline.remaining() <= short <= long <= LIMITS.longest
