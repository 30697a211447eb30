"""The circuit breaker of one replica and pair."""

# ruff: noqa: S311 - jitter, not secrets

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from proxy.balancing.circuit_breaker import (
    BACK_OFF_SECONDS,
    CONSECUTIVE_FAILURES,
    HEALTHY_SECONDS,
    JITTER,
    LONGEST_BACK_OFF_SECONDS,
    MAX_CANARIES,
    RECENT_REQUESTS,
    TRIAL_SECONDS,
    BreakerState,
    CircuitBreaker,
    CircuitPermit,
)
from tests.support.clock import HandClock

LONGEST = LONGEST_BACK_OFF_SECONDS * (1 + JITTER)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def breaker(clock: HandClock) -> CircuitBreaker:
    return CircuitBreaker(clock, Random(1))


def leave(breaker: CircuitBreaker) -> CircuitPermit:
    permit = breaker.acquire()
    assert permit is not None
    return permit


def fail(breaker: CircuitBreaker, times: int = CONSECUTIVE_FAILURES) -> None:
    for _ in range(times):
        breaker.record_failure(leave(breaker))


def trial(breaker: CircuitBreaker, clock: HandClock) -> CircuitPermit:
    """Wait for the end of the back-off, take the trial."""
    clock.now += breaker.retry_in() + 0.001
    permit = leave(breaker)
    assert permit.trial
    return permit


def test_closed_breaker_permits_everything(breaker: CircuitBreaker) -> None:
    permits = [leave(breaker) for _ in range(100)]
    assert not any(permit.trial for permit in permits)
    assert (breaker.state, breaker.retry_in(), breaker.opened_at) == (BreakerState.CLOSED, 0, None)


def test_consecutive_failures_open_the_breaker(breaker: CircuitBreaker, clock: HandClock) -> None:
    fail(breaker, CONSECUTIVE_FAILURES - 1)
    assert breaker.state is BreakerState.CLOSED
    fail(breaker, 1)
    assert breaker.state is BreakerState.OPEN
    assert breaker.opened_at == clock.now
    assert breaker.acquire() is None
    assert BACK_OFF_SECONDS * (1 - JITTER) <= breaker.retry_in() <= BACK_OFF_SECONDS * (1 + JITTER)


def test_success_ends_the_row_of_failures(breaker: CircuitBreaker, clock: HandClock) -> None:
    for _ in range(3):
        fail(breaker, CONSECUTIVE_FAILURES - 1)
        for _ in range(CONSECUTIVE_FAILURES):
            breaker.record_success(leave(breaker))
        clock.now += 1
    assert breaker.state is BreakerState.CLOSED


def test_failure_ratio_opens_the_breaker_without_a_row(breaker: CircuitBreaker, clock: HandClock) -> None:
    for _ in range(RECENT_REQUESTS):
        permit = leave(breaker)
        breaker.record_success(permit)
        breaker.record_failure(permit)
        clock.now += 0.01
        if breaker.state is BreakerState.OPEN:
            return
    pytest.fail("it never opened")


def test_failure_ratio_ignores_few_or_old_requests(breaker: CircuitBreaker, clock: HandClock) -> None:
    for _ in range(10 * RECENT_REQUESTS):
        breaker.record_failure(leave(breaker))
        breaker.record_success(leave(breaker))
        clock.now += 5
    assert breaker.state is BreakerState.CLOSED


def test_failure_at_once_opens_the_breaker(breaker: CircuitBreaker) -> None:
    breaker.record_failure(leave(breaker), at_once=True)
    assert breaker.state is BreakerState.OPEN


def test_trial_success_closes_the_breaker(breaker: CircuitBreaker, clock: HandClock) -> None:
    fail(breaker)
    permit = trial(breaker, clock)
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.acquire() is None
    assert breaker.retry_in() == TRIAL_SECONDS
    breaker.record_success(permit)
    assert (breaker.state, breaker.opened_at) == (BreakerState.CLOSED, None)
    assert not leave(breaker).trial


def test_failed_trial_doubles_the_back_off_up_to_the_limit(breaker: CircuitBreaker, clock: HandClock) -> None:
    fail(breaker)
    expected = BACK_OFF_SECONDS
    for _ in range(8):
        breaker.record_failure(trial(breaker, clock))
        expected = min(2 * expected, LONGEST_BACK_OFF_SECONDS)
        assert expected * (1 - JITTER) <= breaker.retry_in() <= expected * (1 + JITTER)
    assert breaker.opened_at == 1000, "since when it is out, whatever was tried meanwhile"


def test_back_off_has_jitter(clock: HandClock) -> None:
    rng = Random(3)
    breakers = [CircuitBreaker(clock, rng) for _ in range(50)]
    for each in breakers:
        fail(each)
    waits = [each.retry_in() for each in breakers]
    assert max(waits) - min(waits) > BACK_OFF_SECONDS * JITTER


def test_back_off_resets_after_a_healthy_time_only(breaker: CircuitBreaker, clock: HandClock) -> None:
    fail(breaker)
    breaker.record_failure(trial(breaker, clock))
    breaker.record_success(trial(breaker, clock))
    clock.now += HEALTHY_SECONDS / 2
    fail(breaker)
    assert breaker.retry_in() >= 4 * BACK_OFF_SECONDS * (1 - JITTER)
    breaker.record_success(trial(breaker, clock))
    clock.now += HEALTHY_SECONDS + 1
    fail(breaker)
    assert breaker.retry_in() <= BACK_OFF_SECONDS * (1 + JITTER)


def test_permits_from_before_it_opened_are_ignored(breaker: CircuitBreaker, clock: HandClock) -> None:
    early = [leave(breaker) for _ in range(20)]
    fail(breaker)
    wait = breaker.retry_in()
    breaker.record_failure(early.pop())
    breaker.record_failure(early.pop(), at_once=True)
    breaker.record_success(early.pop())
    breaker.release(early.pop())
    assert (breaker.state, breaker.retry_in()) == (BreakerState.OPEN, wait)
    breaker.record_success(trial(breaker, clock))
    for permit in early:
        breaker.record_failure(permit, at_once=True)
    assert breaker.state is BreakerState.CLOSED, "those that hung in the fault must not end the recovery"


def test_released_trial_permits_another_trial(breaker: CircuitBreaker, clock: HandClock) -> None:
    fail(breaker)
    breaker.release(trial(breaker, clock))
    assert breaker.state is BreakerState.HALF_OPEN
    assert leave(breaker).trial


def test_lost_trial_expires_and_is_then_ignored(breaker: CircuitBreaker, clock: HandClock) -> None:
    fail(breaker)
    lost = trial(breaker, clock)
    clock.now += TRIAL_SECONDS - 0.01
    assert breaker.acquire() is None
    clock.now += 0.01
    current = leave(breaker)
    breaker.release(lost)
    breaker.record_failure(lost)
    assert breaker.acquire() is None, "the place belongs to the second trial now"
    breaker.record_success(current)
    breaker.record_failure(lost, at_once=True)
    assert breaker.state is BreakerState.CLOSED


def test_passed_canary_ends_the_back_off_at_once(breaker: CircuitBreaker, clock: HandClock) -> None:
    fail(breaker)
    for _ in range(6):
        breaker.record_failure(trial(breaker, clock))
    assert breaker.retry_in() > 20
    breaker.canary_passed()
    assert (breaker.state, breaker.retry_in()) == (BreakerState.HALF_OPEN, 0)
    breaker.record_success(leave(breaker))
    assert breaker.state is BreakerState.CLOSED


def test_canary_is_no_trial(breaker: CircuitBreaker, clock: HandClock) -> None:
    breaker.canary_passed()
    breaker.canary_failed()
    assert breaker.state is BreakerState.CLOSED
    fail(breaker)
    permit = trial(breaker, clock)
    breaker.canary_passed()
    breaker.canary_failed()
    assert breaker.acquire() is None
    breaker.record_failure(permit)
    assert breaker.state is BreakerState.OPEN


def test_failed_trial_after_canaries_requires_more_of_them(breaker: CircuitBreaker) -> None:
    fail(breaker)
    for needed in (1, 2, MAX_CANARIES, MAX_CANARIES):
        for _ in range(needed):
            assert breaker.state is BreakerState.OPEN
            breaker.canary_passed()
        breaker.record_failure(leave(breaker))
    breaker.canary_passed()
    breaker.canary_failed()
    for _ in range(MAX_CANARIES - 1):
        breaker.canary_passed()
    assert breaker.state is BreakerState.OPEN, "a bad one begins the row again"
    breaker.canary_passed()
    assert breaker.state is BreakerState.HALF_OPEN


def test_required_canaries_reset_after_a_healthy_time(breaker: CircuitBreaker, clock: HandClock) -> None:
    for _ in range(2):
        fail(breaker)
        while breaker.state is BreakerState.OPEN:
            breaker.canary_passed()
        breaker.record_success(leave(breaker))
    fail(breaker)
    for _ in range(3):
        breaker.canary_passed()
    assert breaker.state is BreakerState.OPEN
    breaker.canary_passed()
    breaker.record_success(leave(breaker))
    clock.now += HEALTHY_SECONDS + 1
    fail(breaker)
    breaker.canary_passed()
    assert breaker.state is BreakerState.HALF_OPEN


class AnyInterleaving(RuleBasedStateMachine):
    """Requests begin and end, canaries come, time passes, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.breaker = CircuitBreaker(self.clock, Random(1))
        self.out: list[tuple[float, CircuitPermit]] = []
        self.trial_at: float | None = None

    @rule(seconds=st.floats(0.01, 40))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def a_request_begins(self) -> None:
        before = self.breaker.state
        permit = self.breaker.acquire()
        if permit is None:
            assert before is not BreakerState.CLOSED
            return
        assert permit.trial == (before is BreakerState.HALF_OPEN)
        if permit.trial:
            lately = [at for at, each in self.out if each.trial and self.clock.now - at < TRIAL_SECONDS]
            assert not lately or self.trial_at is None, "two trials at once"
            self.trial_at = self.clock.now
        self.out.append((self.clock.now, permit))

    @precondition(lambda self: bool(self.out))
    @rule(data=st.data(), verdict=st.sampled_from(("success", "failure", "refused", "none")))
    def a_request_ends(self, data: st.DataObject, verdict: str) -> None:
        at, permit = self.out.pop(data.draw(st.integers(0, len(self.out) - 1)))
        before, wait = self.breaker.state, self.breaker.retry_in()
        if permit.trial and at == self.trial_at:
            self.trial_at = None
        end: dict[str, Any] = {
            "success": lambda: self.breaker.record_success(permit),
            "failure": lambda: self.breaker.record_failure(permit),
            "refused": lambda: self.breaker.record_failure(permit, at_once=True),
            "none": lambda: self.breaker.release(permit),
        }
        end[verdict]()
        if not permit.trial and before is not BreakerState.CLOSED:
            assert (self.breaker.state, self.breaker.retry_in()) == (before, wait)

    @rule(passed=st.booleans())
    def a_canary_comes_back(self, *, passed: bool) -> None:
        before = self.breaker.state
        if passed:
            self.breaker.canary_passed()
            assert self.breaker.state is before or self.breaker.state is BreakerState.HALF_OPEN
        else:
            self.breaker.canary_failed()
            assert self.breaker.state is before

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        assert 0 <= self.breaker.retry_in() <= max(LONGEST, TRIAL_SECONDS)
        assert (self.breaker.opened_at is None) == (self.breaker.state is BreakerState.CLOSED)


class TestAnyInterleaving(AnyInterleaving.TestCase):
    settings = settings(deadline=None, stateful_step_count=60)
