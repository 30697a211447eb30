"""When a slow request is sent a second time, and how often."""

# ruff: noqa: S311 - latencies, not secrets

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.balancing.hedge_policy import (
    FIRST_SECONDS_PER_UNIT,
    HEDGE_BURST,
    HEDGE_SHARE,
    MIN_SAMPLES,
    OVER_MEDIAN,
    RECENT,
    SAMPLES,
    SHORTEST_DELAY_SECONDS,
    HedgePolicy,
)


@pytest.fixture
def policy() -> HedgePolicy:
    return HedgePolicy()


def see(policy: HedgePolicy, *latencies: float, times: int = 1) -> None:
    for latency in latencies * times:
        policy.observe(latency)


def hedges(policy: HedgePolicy) -> int:
    count = 0
    while policy.withdraw():
        count += 1
    return count


def test_delay_is_fixed_until_there_are_samples(policy: HedgePolicy) -> None:
    assert policy.delay(2) == 2 * FIRST_SECONDS_PER_UNIT
    see(policy, 0.001, times=MIN_SAMPLES - 1)
    assert policy.delay(2) == 2 * FIRST_SECONDS_PER_UNIT
    see(policy, 0.02)
    assert policy.delay(2) == pytest.approx(0.04)


def test_delay_is_the_95th_percentile_per_unit_of_work(policy: HedgePolicy) -> None:
    latencies = [0.1 + index / 1000 for index in range(SAMPLES)]
    Random(1).shuffle(latencies)
    see(policy, *latencies)
    assert policy.delay(1) == pytest.approx(OVER_MEDIAN * 0.35, rel=0.02)
    see(policy, *[0.1] * 9, 3.0, times=SAMPLES // 10)
    assert policy.delay(2) == pytest.approx(6.0)


def test_delay_is_at_least_twice_the_median(policy: HedgePolicy) -> None:
    see(policy, 0.100, 0.101, times=SAMPLES)
    delay = policy.delay(1)
    assert delay is not None
    assert delay >= OVER_MEDIAN * 0.1


def test_delay_has_a_lower_bound(policy: HedgePolicy) -> None:
    see(policy, 0.0001, times=SAMPLES)
    assert policy.delay(1) == SHORTEST_DELAY_SECONDS


def test_delay_stays_when_one_replica_is_slow(policy: HedgePolicy) -> None:
    see(policy, 0.02, times=SAMPLES)
    see(policy, 0.02, 0.02, 1.5, times=SAMPLES)
    assert policy.delay(1) is not None


def test_delay_is_none_while_the_whole_fleet_is_slow(policy: HedgePolicy) -> None:
    see(policy, 0.02, times=SAMPLES)
    see(policy, 0.1, times=RECENT)
    assert policy.delay(1) is None
    see(policy, 0.1, times=SAMPLES)
    assert policy.delay(1) == pytest.approx(0.2)


def test_delay_returns_with_the_old_latencies(policy: HedgePolicy) -> None:
    see(policy, 0.02, times=SAMPLES)
    see(policy, 0.1, times=RECENT)
    see(policy, 0.02, times=RECENT)
    assert policy.delay(1) is not None


def test_hedges_stay_within_their_share(policy: HedgePolicy) -> None:
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


def test_tokens_are_bounded_by_the_burst(policy: HedgePolicy) -> None:
    for _ in range(100_000):
        policy.record_request()
    assert hedges(policy) == HEDGE_BURST


@given(st.lists(st.floats(0, 1e4), max_size=1200), st.floats(1, 1e4))
def test_delay_is_never_too_short(latencies: list[float], work: float) -> None:
    policy = HedgePolicy()
    see(policy, *latencies)
    delay = policy.delay(work)
    assert delay is None or delay >= SHORTEST_DELAY_SECONDS
