"""Which attempts a request may make, and what they cost, without any network."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.forwarding.retry_policy import (
    FREE_PER_SECOND,
    LIFE_SECONDS,
    MAX_UNREACHABLE,
    REQUESTS_PER_ATTEMPT,
    RetryBudget,
)
from proxy.upstream.response_classifier import AttemptOutcome
from shared.protocol.errors import (
    DeadlineExceededError,
    OverloadedError,
    PairUnavailableError,
    ReplicaFailedError,
    UnknownPairError,
)
from tests.proxy.forwarding.policies import FLEET, Setup
from tests.proxy.samples import replica, snapshot
from tests.support.clock import HandClock


def test_first_attempt_costs_nothing() -> None:
    setup = Setup()
    setup.spend()
    assert setup.policy.begin(setup.progress(), FLEET).url in "abc"


def test_first_attempt_without_pair_raises_its_error() -> None:
    setup = Setup()
    with pytest.raises(UnknownPairError):
        setup.policy.begin(setup.progress("ja"), FLEET)


def test_first_attempt_after_the_deadline_raises() -> None:
    setup = Setup()
    with pytest.raises(DeadlineExceededError):
        setup.policy.begin(setup.progress(seconds=0), FLEET)


def test_next_attempt_goes_to_another_replica_and_is_paid() -> None:
    setup = Setup()
    progress = setup.failed("a")
    left = setup.budget.left
    assert setup.policy.begin_retry(progress, FLEET).url in "bc"
    assert setup.budget.left == left - 1


def test_next_attempt_is_refused_without_budget() -> None:
    setup = Setup()
    setup.spend()
    progress = setup.failed("a")
    with pytest.raises(ReplicaFailedError):
        setup.policy.begin_retry(progress, FLEET)


def test_next_attempt_over_the_limit_raises_most_useful_error() -> None:
    setup = Setup()
    progress = setup.failed("a", "b")
    progress.errors["b"] = OverloadedError("full", retry_after=1)
    with pytest.raises(OverloadedError):
        setup.policy.begin_retry(progress, FLEET)


def test_next_attempt_without_untried_replica_raises_last_error() -> None:
    setup = Setup(max_attempts=9)
    progress = setup.failed("a", "b", "c")
    with pytest.raises(ReplicaFailedError):
        setup.policy.begin_retry(progress, FLEET)


def test_unreachable_replicas_are_no_attempts() -> None:
    setup = Setup()
    progress = setup.failed("a", "b")
    progress.unreachable_count = 2
    assert setup.policy.begin_retry(progress, FLEET).url == "c"


def test_unreachable_replicas_are_limited_too() -> None:
    setup = Setup()
    progress = setup.failed(*(str(number) for number in range(MAX_UNREACHABLE)))
    progress.unreachable_count = MAX_UNREACHABLE
    with pytest.raises(ReplicaFailedError):
        setup.policy.begin_retry(progress, FLEET)


def test_prepaid_attempt_pays_the_next_one() -> None:
    setup = Setup()
    progress = setup.failed("a")
    assert setup.policy.prepay(progress, FLEET)
    setup.spend()
    assert setup.policy.begin_retry(progress, FLEET).url in "bc"
    with pytest.raises(ReplicaFailedError):
        setup.policy.begin_retry(progress, FLEET)


def test_prepaid_attempt_that_did_not_come_is_refunded() -> None:
    setup = Setup(max_attempts=9)
    progress, left = setup.failed("a"), setup.budget.left
    assert setup.policy.prepay(progress, FLEET)
    assert setup.policy.prepay(progress, FLEET)
    setup.policy.begin_retry(progress, FLEET)
    setup.policy.refund(progress)
    assert setup.budget.left == left - 1
    setup.policy.refund(progress)
    assert setup.budget.left == left - 1, "once"


def test_only_replica_is_not_abandoned() -> None:
    setup = Setup()
    progress = setup.progress()
    progress.tried_urls |= {"a"}
    assert not setup.policy.prepay(progress, snapshot(replica("a", "en>de")))
    assert not setup.policy.prepay(progress, snapshot(remembered=("en>de",)))


def test_started_stream_is_not_abandoned() -> None:
    setup = Setup()
    progress = setup.progress(streams=True)
    progress.tried_urls |= {"a"}
    assert progress.leg.sink is not None
    progress.leg.sink(0, "Hal")
    assert not setup.policy.prepay(progress, FLEET)


def test_attempt_is_not_abandoned_without_budget() -> None:
    setup = Setup()
    setup.spend()
    progress = setup.progress()
    progress.tried_urls |= {"a"}
    assert not setup.policy.prepay(progress, FLEET)


def test_leg_moves_to_another_pair_once_its_own_is_gone() -> None:
    setup = Setup()
    gone = snapshot(replica("a", "en-GB>de"), replica("b", "en>de").silent("x", 1, max_misses=1))
    setup.stats.apply_snapshot(gone)
    assert str(setup.policy.begin(setup.progress(source="en"), gone).pair) == "en-GB-de"


def test_refused_pair_is_unavailable() -> None:
    setup = Setup()
    for _ in "abc":
        progress = setup.progress()
        with setup.stats.begin_attempt(setup.policy.begin(progress, FLEET), progress.leg.cost) as attempt:
            attempt.record_outcome(AttemptOutcome.REFUSED)
    with pytest.raises(PairUnavailableError, match="refuse"):
        setup.policy.begin(setup.progress(), FLEET)


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
    assert budget.left == 0


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


def test_refund_counts_as_long_as_its_withdrawal(budget: RetryBudget, clock: HandClock) -> None:
    drain(budget)
    second = budget.second
    clock.now += LIFE_SECONDS - 1
    budget.refund(second)
    assert budget.left == 1
    clock.now += 1
    budget.refund(second)
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
