"""The average latency per unit of work; when a slow request is sent a second time, and how often."""

# ruff: noqa: S311 - latencies, not secrets

from __future__ import annotations

from math import exp, isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.balancing.latency import (
    DECAY_SECONDS,
    FIRST_SECONDS_PER_UNIT,
    HEDGE_BURST,
    HEDGE_SHARE,
    MIN_SAMPLES,
    OVER_MEDIAN,
    RECENT,
    SAMPLES,
    SHORTEST_DELAY_SECONDS,
    SILENCE_SECONDS,
    ModelLatency,
    PeakEwma,
)
from tests.proxy.clock import HandClock

SECONDS = st.floats(0, 1e6)


def test_value_is_none_before_the_first_sample() -> None:
    ewma = PeakEwma(HandClock())
    assert ewma.value is None


def test_slow_sample_counts_at_once() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    ewma.observe(0.02)
    clock.now += 0.001
    ewma.observe(1.5)
    assert ewma.value == 1.5


def test_good_samples_decay_a_slow_one() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    ewma.observe(1.0)
    for _ in range(100):
        clock.now += DECAY_SECONDS / 100
        ewma.observe(0.0)
    assert ewma.value is not None
    assert isclose(ewma.value, exp(-1))


def test_samples_at_one_moment_keep_the_peak() -> None:
    ewma = PeakEwma(HandClock())
    for sample in (1.0, *[0.01] * 100):
        ewma.observe(sample)
    assert ewma.value == 1.0


def test_silence_decays_all_values_alike() -> None:
    clock = HandClock()
    fast, slow = PeakEwma(clock), PeakEwma(clock)
    fast.observe(0.1)
    slow.observe(0.4)
    clock.now += SILENCE_SECONDS
    assert slow.value is not None
    assert fast.value is not None
    assert isclose(slow.value, 0.4 * exp(-1))
    assert isclose(slow.value / fast.value, 4)


def test_last_value_stays_in_silence() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    assert ewma.last is None
    ewma.observe(2.0)
    clock.now += 10 * SILENCE_SECONDS
    assert ewma.last == 2.0


def test_first_sample_after_silence_replaces_the_value() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    ewma.observe(1.0)
    clock.now += 1e9
    assert ewma.value == 0
    ewma.observe(0.3)
    assert ewma.value == 0.3


def test_reset_replaces_the_value() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    ewma.observe(60.0)
    clock.now += 1
    ewma.reset(0.02)
    assert ewma.value == 0.02


@given(st.lists(st.tuples(st.floats(0, 100), SECONDS), min_size=1))
def test_value_stays_within_its_samples(steps: list[tuple[float, float]]) -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    for passed, sample in steps:
        clock.now += passed
        ewma.observe(sample)
        assert ewma.value is not None
        assert sample <= ewma.value <= max(each for _, each in steps) * (1 + 1e-9)


@pytest.fixture
def policy() -> ModelLatency:
    return ModelLatency()


def see(policy: ModelLatency, *latencies: float, times: int = 1) -> None:
    for latency in latencies * times:
        policy.observe(latency)


def hedges(policy: ModelLatency) -> int:
    count = 0
    while policy.withdraw():
        count += 1
    return count


def test_delay_is_fixed_until_there_are_samples(policy: ModelLatency) -> None:
    assert policy.delay(2) == 2 * FIRST_SECONDS_PER_UNIT
    see(policy, 0.001, times=MIN_SAMPLES - 1)
    assert policy.delay(2) == 2 * FIRST_SECONDS_PER_UNIT
    see(policy, 0.02)
    assert policy.delay(2) == pytest.approx(0.04)


def test_delay_is_the_95th_percentile_per_unit_of_work(policy: ModelLatency) -> None:
    latencies = [0.1 + index / 1000 for index in range(SAMPLES)]
    Random(1).shuffle(latencies)
    see(policy, *latencies)
    assert policy.delay(1) == pytest.approx(OVER_MEDIAN * 0.35, rel=0.02)
    see(policy, *[0.1] * 9, 3.0, times=SAMPLES // 10)
    assert policy.delay(2) == pytest.approx(6.0)


def test_delay_is_at_least_twice_the_median(policy: ModelLatency) -> None:
    see(policy, 0.100, 0.101, times=SAMPLES)
    delay = policy.delay(1)
    assert delay is not None
    assert delay >= OVER_MEDIAN * 0.1


def test_delay_has_a_lower_bound(policy: ModelLatency) -> None:
    see(policy, 0.0001, times=SAMPLES)
    assert policy.delay(1) == SHORTEST_DELAY_SECONDS


def test_delay_stays_when_one_replica_is_slow(policy: ModelLatency) -> None:
    see(policy, 0.02, times=SAMPLES)
    see(policy, 0.02, 0.02, 1.5, times=SAMPLES)
    assert policy.delay(1) is not None


def test_delay_is_none_while_the_whole_fleet_is_slow(policy: ModelLatency) -> None:
    see(policy, 0.02, times=SAMPLES)
    see(policy, 0.1, times=RECENT)
    assert policy.delay(1) is None
    see(policy, 0.1, times=SAMPLES)
    assert policy.delay(1) == pytest.approx(0.2)


def test_delay_returns_with_the_old_latencies(policy: ModelLatency) -> None:
    see(policy, 0.02, times=SAMPLES)
    see(policy, 0.1, times=RECENT)
    see(policy, 0.02, times=RECENT)
    assert policy.delay(1) is not None


def test_hedges_stay_within_their_share(policy: ModelLatency) -> None:
    assert hedges(policy) == HEDGE_BURST
    for _ in range(1000):
        policy.record_request()
        policy.withdraw()
    assert not policy.withdraw()
    count = 0
    for _ in range(1000):
        policy.record_request()
        count += policy.withdraw()
    assert count <= 1000 * HEDGE_SHARE + 1
    assert count >= 1000 * HEDGE_SHARE - 1


def test_tokens_are_bounded_by_the_burst(policy: ModelLatency) -> None:
    for _ in range(100_000):
        policy.record_request()
    assert hedges(policy) == HEDGE_BURST


@given(st.lists(st.floats(0, 1e4), max_size=1200), st.floats(1, 1e4))
def test_delay_is_never_too_short(latencies: list[float], work: float) -> None:
    policy = ModelLatency()
    see(policy, *latencies)
    delay = policy.delay(work)
    assert delay is None or delay >= SHORTEST_DELAY_SECONDS
