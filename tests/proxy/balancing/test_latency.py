"""Latencies per unit of work: the average of a replica, and when a model's requests are late."""

# ruff: noqa: S311 - latencies, not secrets

from __future__ import annotations

from math import exp, isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.balancing.local_stats import FIRST_LATE_SECONDS, MIN_SAMPLES, OVER_MEDIAN, RECENT, SAMPLES, ModelLatency
from proxy.balancing.replica_stats import DECAY_SECONDS, SILENCE_SECONDS, PeakEwma
from tests.support.clock import HandClock

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
def latency() -> ModelLatency:
    return ModelLatency()


def observe(latency: ModelLatency, *samples: float, times: int = 1) -> None:
    for sample in samples * times:
        latency.observe(sample)


def test_request_is_late_after_a_fixed_time_at_first(latency: ModelLatency) -> None:
    assert latency.late_seconds == FIRST_LATE_SECONDS
    observe(latency, 0.001, times=MIN_SAMPLES - 1)
    assert latency.late_seconds == FIRST_LATE_SECONDS
    observe(latency, 0.02)
    assert latency.late_seconds == pytest.approx(0.02)


def test_request_is_late_above_the_95th_percentile(latency: ModelLatency) -> None:
    samples = [0.1 + index / 1000 for index in range(SAMPLES)]
    Random(1).shuffle(samples)
    observe(latency, *samples)
    assert latency.late_seconds == pytest.approx(OVER_MEDIAN * 0.35, rel=0.02)
    observe(latency, *[0.1] * 9, 3.0, times=SAMPLES // 10)
    assert latency.late_seconds == pytest.approx(3.0)


def test_request_is_late_at_twice_the_median_at_least(latency: ModelLatency) -> None:
    observe(latency, 0.100, 0.101, times=SAMPLES)
    assert latency.late_seconds >= OVER_MEDIAN * 0.1


def test_one_slow_replica_makes_no_slow_fleet(latency: ModelLatency) -> None:
    observe(latency, 0.02, times=SAMPLES)
    observe(latency, 0.02, 0.02, 1.5, times=SAMPLES)
    assert not latency.is_slow


def test_fleet_is_slow_until_it_is_usual(latency: ModelLatency) -> None:
    observe(latency, 0.02, times=SAMPLES)
    observe(latency, 0.1, times=RECENT)
    assert latency.is_slow
    observe(latency, 0.1, times=SAMPLES)
    assert not latency.is_slow
    assert latency.late_seconds == pytest.approx(0.2)


def test_fleet_is_no_longer_slow_with_the_old_latencies(latency: ModelLatency) -> None:
    observe(latency, 0.02, times=SAMPLES)
    observe(latency, 0.1, times=RECENT)
    observe(latency, 0.02, times=RECENT)
    assert not latency.is_slow
