"""The average latency per unit of work."""

from __future__ import annotations

from math import exp, isclose

from hypothesis import given
from hypothesis import strategies as st

from proxy.balancing.latency import DECAY_SECONDS, SILENCE_SECONDS, PeakEwma
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
