"""The throughput meter: measures only while the engine is full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.scheduling.throughput import GAP_SECONDS, MEMORY_SECONDS, MIN_SEEN_SECONDS, ThroughputMeter
from tests.support.clock import HandClock


def work(rate: ThroughputMeter, clock: HandClock, seconds: float, per_second: float) -> None:
    """Let time pass, a twentieth of a second after the other, with work done evenly."""
    for _ in range(round(seconds * 20)):
        clock.now += 0.05
        rate.done(per_second / 20)


def test_rate_is_unknown_until_the_engine_was_full() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    rate.set_fullness(1)
    work(rate, clock, MIN_SEEN_SECONDS - 0.1, 50)
    assert rate.rate is None
    work(rate, clock, 0.2, 50)
    assert rate.rate == pytest.approx(50, rel=0.05)


def test_time_with_free_slots_does_not_count() -> None:
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


def test_units_after_a_full_time_do_not_count_for_it() -> None:
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


def test_falling_share_counts_at_once() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    for _ in range(200):
        rate.set_fullness(1)
        work(rate, clock, 0.05, 50)
        rate.set_fullness(0.25)
        work(rate, clock, 0.05, 12.5)
    assert rate.rate == pytest.approx(50, rel=0.05)


def test_slot_taken_again_at_once_was_never_free() -> None:
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


def test_rate_follows_a_slower_and_a_stalled_engine() -> None:
    clock = HandClock()
    rate = ThroughputMeter(clock)
    rate.set_fullness(1)
    work(rate, clock, 20, 100)
    work(rate, clock, 3 * MEMORY_SECONDS, 20)
    assert rate.rate == pytest.approx(20, rel=0.3)
    clock.now += 10 * MEMORY_SECONDS
    assert rate.rate == pytest.approx(0, abs=0.1)


def test_share_of_the_slots_counts_as_share_of_the_time() -> None:
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


@given(st.lists(st.tuples(st.booleans(), st.floats(0.01, 5), st.floats(1, 200)), min_size=1, max_size=30))
def test_rate_stays_between_the_extremes_while_full(turns: list[tuple[bool, float, float]]) -> None:
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
