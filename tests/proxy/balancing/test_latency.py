"""The average latency per unit of work."""

from __future__ import annotations

from math import exp, isclose

from hypothesis import given
from hypothesis import strategies as st

from proxy.balancing.latency import DECAY_SECONDS, SILENCE_SECONDS, PeakEwma
from proxy.request_cost import CHARS_PER_WORK_UNIT, work_of
from tests.proxy.clock import HandClock

SECONDS = st.floats(0, 1e6)


def test_nothing_is_known_before_the_first_sample() -> None:
    ewma = PeakEwma(HandClock())
    assert ewma.value is None
    assert "None" in repr(ewma)


def test_a_slow_sample_counts_at_once_and_whole() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    ewma.observe(0.02)
    clock.now += 0.001
    ewma.observe(1.5)
    assert ewma.value == 1.5


def test_good_samples_take_a_bad_one_back_with_the_time_constant() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    ewma.observe(1.0)
    for _ in range(100):
        clock.now += DECAY_SECONDS / 100
        ewma.observe(0.0)
    assert ewma.value is not None
    assert isclose(ewma.value, exp(-1))


def test_many_samples_at_one_moment_do_not_make_good_news_of_bad() -> None:
    ewma = PeakEwma(HandClock())
    for sample in (1.0, *[0.01] * 100):
        ewma.observe(sample)
    assert ewma.value == 1.0


def test_who_is_never_asked_looks_better_in_time_and_keeps_its_rank_among_those() -> None:
    clock = HandClock()
    fast, slow = PeakEwma(clock), PeakEwma(clock)
    fast.observe(0.1)
    slow.observe(0.4)
    clock.now += SILENCE_SECONDS
    assert slow.value is not None
    assert fast.value is not None
    assert isclose(slow.value, 0.4 * exp(-1))
    assert isclose(slow.value / fast.value, 4)


def test_silence_is_no_good_sample() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    ewma.observe(1.0)
    clock.now += 1e9
    assert ewma.value == 0
    ewma.observe(0.3)
    assert ewma.value == 0.3


def test_a_reset_forgets_what_was() -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    ewma.observe(60.0)
    clock.now += 1
    ewma.reset(0.02)
    assert ewma.value == 0.02


@given(st.lists(st.tuples(st.floats(0, 100), SECONDS), min_size=1))
def test_the_average_stays_among_its_samples(steps: list[tuple[float, float]]) -> None:
    clock = HandClock()
    ewma = PeakEwma(clock)
    for passed, sample in steps:
        clock.now += passed
        ewma.observe(sample)
        assert ewma.value is not None
        assert sample <= ewma.value <= max(each for _, each in steps) * (1 + 1e-9)


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_longer_texts_are_more_work_and_an_empty_one_is_a_unit(one: int, other: int) -> None:
    assert work_of(0) == 1
    assert work_of(CHARS_PER_WORK_UNIT) == 2
    assert (work_of(one) <= work_of(other)) == (one <= other)
