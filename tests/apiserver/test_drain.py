"""The drain rate: learnt only while the engine is full, and told only when it is known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.scheduling.throughput import GAP_SECONDS, MEMORY_SECONDS, MIN_SEEN_SECONDS, ThroughputMeter
from tests.apiserver.hand_clock import HandClock


def work(rate: ThroughputMeter, clock: HandClock, seconds: float, per_second: float) -> None:
    """Let time pass, a twentieth of a second after the other, with work done evenly."""
    for _ in range(round(seconds * 20)):
        clock.now += 0.05
        rate.done(per_second / 20)


def test_it_is_unknown_until_the_engine_has_been_full_for_a_while() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    rate.set_fullness(1)
    work(rate, clock, MIN_SEEN_SECONDS - 0.1, 50)
    assert rate.rate is None
    work(rate, clock, 0.2, 50)
    assert rate.rate == pytest.approx(50, rel=0.05)


def test_times_with_room_teach_nothing() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    work(rate, clock, 60, 3)
    assert rate.rate is None
    rate.set_fullness(1)
    work(rate, clock, 10, 80)
    rate.set_fullness(0)
    known = rate.rate
    work(rate, clock, 60, 1)
    clock.now += 3600
    assert rate.rate == pytest.approx(known, rel=0.001)
    assert known == pytest.approx(80, rel=0.05)


def test_what_is_done_after_full_times_that_are_over_does_not_count_for_them() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    for _ in range(200):  # short full times, and each time what is left is done while there is room
        rate.set_fullness(1)
        clock.now += 0.05
        rate.done(2.5)
        rate.set_fullness(0)
        for _ in range(9):
            clock.now += 0.02
            rate.done(1)
        clock.now += 1
    assert rate.rate == pytest.approx(50, rel=0.05)


def test_a_share_that_falls_counts_at_once() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    for _ in range(200):
        rate.set_fullness(1)
        work(rate, clock, 0.05, 50)
        rate.set_fullness(0.25)
        work(rate, clock, 0.05, 12.5)
    assert rate.rate == pytest.approx(50, rel=0.05)


def test_a_place_that_is_given_back_and_taken_again_is_no_room_and_what_was_done_in_it_counts() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    rate.set_fullness(1)
    for _ in range(1000):  # exactly as many requests as places: each answer makes room for a moment
        clock.now += 0.015
        rate.set_fullness(0)
        clock.now += GAP_SECONDS / 20
        rate.done(1)
        rate.set_fullness(1)
    assert rate.rate == pytest.approx(1 / 0.02, rel=0.05)
    clock.now += 0.015
    rate.set_fullness(0)
    known = rate.rate
    clock.now += 60
    rate.set_fullness(1)
    assert rate.rate == pytest.approx(known, rel=0.01), "room that lasts is no gap, its time is not counted"


def test_it_follows_an_engine_that_becomes_slower_and_one_that_stands_still() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    rate.set_fullness(1)
    work(rate, clock, 20, 100)
    work(rate, clock, 3 * MEMORY_SECONDS, 20)
    assert rate.rate == pytest.approx(20, rel=0.3)
    clock.now += 10 * MEMORY_SECONDS
    assert rate.rate == pytest.approx(0, abs=0.1)


def test_a_share_of_the_places_counts_as_that_share_of_the_time() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    rate.set_fullness(0.25)
    work(rate, clock, 3 * MIN_SEEN_SECONDS, 20)
    assert rate.rate is None
    work(rate, clock, 2 * MIN_SEEN_SECONDS, 20)
    assert rate.rate == pytest.approx(80, rel=0.05)
    rate.set_fullness(1)
    work(rate, clock, 3 * MEMORY_SECONDS, 50)
    assert rate.rate == pytest.approx(50, rel=0.1), "what a full batch really does is learnt soon"


def test_another_engine_begins_anew() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    rate.set_fullness(1)
    work(rate, clock, 10, 100)
    rate.reset()
    assert rate.rate is None
    work(rate, clock, 10, 100)
    assert rate.rate is None, "the new engine is not full yet"


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(0.01, 5), st.floats(1, 200)), min_size=1, max_size=30))
def test_it_stays_between_the_least_and_the_most_that_was_done_while_full(
    turns: list[tuple[bool, float, float]],
) -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    seen: list[float] = []
    for full, seconds, per_second in turns:
        rate.set_fullness(full)
        if full:
            seen.append(per_second)
        for _ in range(20):
            clock.now += seconds / 20
            rate.done(per_second * seconds / 20)
    value = rate.rate
    if value is not None:
        assert min(seen) * 0.9 <= value <= max(seen) * 1.7
