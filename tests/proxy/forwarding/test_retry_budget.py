"""The budget of second attempts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.forwarding.retry_budget import FREE_PER_SECOND, LIFE_SECONDS, REQUESTS_PER_ATTEMPT, RetryBudget
from tests.proxy.clock import HandClock

FREE = FREE_PER_SECOND * LIFE_SECONDS


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def budget(clock: HandClock) -> RetryBudget:
    return RetryBudget(clock)


def drain(budget: RetryBudget) -> int:
    count = 0
    while budget.withdraw():
        count += 1
    return count


def test_budget_without_deposits_is_bounded(budget: RetryBudget) -> None:
    assert drain(budget) == FREE
    assert not budget.withdraw()
    assert repr(budget) == "<RetryBudget 0>"


def test_five_deposits_pay_for_one_attempt(budget: RetryBudget) -> None:
    drain(budget)
    for _ in range(REQUESTS_PER_ATTEMPT - 1):
        budget.deposit()
    assert not budget.withdraw()
    budget.deposit()
    assert budget.withdraw()
    assert not budget.withdraw()


def test_unused_deposits_expire(budget: RetryBudget, clock: HandClock) -> None:
    for _ in range(1000):
        budget.deposit()
    assert budget.left == FREE + 200
    clock.now += LIFE_SECONDS + 1
    assert budget.left == FREE


def test_withdrawals_expire_after_ten_seconds(budget: RetryBudget, clock: HandClock) -> None:
    drain(budget)
    clock.now += LIFE_SECONDS - 1
    assert budget.left == 0
    clock.now += 1
    assert budget.left == FREE


def test_budget_survives_silence_and_stopped_clock(budget: RetryBudget, clock: HandClock) -> None:
    drain(budget)
    clock.now += 1e12
    assert drain(budget) == FREE
    assert drain(budget) == 0


@given(
    st.lists(
        st.tuples(st.sampled_from((0.0, 0.1, 0.5, 1.0, 3.0, 30.0)), st.integers(0, 40), st.integers(0, 300)),
        min_size=1,
        max_size=30,
    )
)
def test_budget_holds_in_any_ten_seconds(steps: list[tuple[float, int, int]]) -> None:
    clock = HandClock()
    budget = RetryBudget(clock)
    log: list[tuple[float, int, int]] = []
    for passed, requests, attempts in steps:
        clock.now += passed
        for _ in range(requests):
            budget.deposit()
        log.append((clock.now, requests, sum(budget.withdraw() for _ in range(attempts))))
    assert all(earlier <= later for (earlier, *_), (later, *_) in pairwise(log))
    for until, _, _ in log:
        spent = sum(withdrawn for at, _, withdrawn in log if until - (LIFE_SECONDS - 1) <= at <= until)
        # Deposits from just before the window may pay for attempts in it.
        earned = sum(came for at, came, _ in log if until - 2 * LIFE_SECONDS <= at <= until)
        assert spent <= FREE + earned / REQUESTS_PER_ATTEMPT
