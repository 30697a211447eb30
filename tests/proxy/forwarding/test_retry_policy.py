"""Which attempts a request may make, and what they cost, without any network."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.balancing.latency import HEDGE_BURST
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.call import TranslationCall
from proxy.forwarding.leg import Leg
from proxy.forwarding.retry_policy import (
    FREE_PER_SECOND,
    LIFE_SECONDS,
    MAX_UNREACHABLE,
    REQUESTS_PER_ATTEMPT,
    RetryBudget,
    RetryPolicy,
)
from proxy.keys.caller import Caller
from proxy.request_cost import RequestCost
from proxy.upstream.response_classifier import AttemptOutcome
from shared.protocol.deadline import Deadline
from shared.protocol.errors import (
    DeadlineExceededError,
    OverloadedError,
    PairUnavailableError,
    ReplicaFailedError,
    UnknownPairError,
)
from shared.protocol.priority import Priority
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from tests.proxy.clock import HandClock
from tests.proxy.samples import pair, replica, snapshot

EN_DE = pair("en>de")
FLEET = snapshot(*(replica(url, "en>de") for url in "abc"))
FAILURE = ReplicaFailedError("x")


class Setup:
    """A policy of two attempts over three replicas, and one request."""

    def __init__(self, max_attempts: int = 2) -> None:
        self.clock = HandClock()
        rng = Random(1)  # noqa: S311 - the same in each run
        self.stats = LocalStats(self.clock, rng)
        self.stats.apply_snapshot(FLEET)
        self.budget = RetryBudget(self.clock)
        selector = ReplicaSelector(self.stats, rng)
        self.policy = RetryPolicy(selector, self.stats, self.budget, max_attempts)

    def leg(self, target: str = "de", *, seconds: float = 10.0, streams: bool = False) -> Leg:
        request = TranslateRequest(text="Hello", source_lang="en", target_lang=target)
        deadline = Deadline.after(seconds, self.clock)
        cost = RequestCost.of(request, Priority.INTERACTIVE)
        call = TranslationCall(request, cost, Caller("c"), Priority.INTERACTIVE, deadline, "id", RequestSample())
        sink = DeltaSink(lambda _index, _text: None) if streams else None
        return Leg(pair(f"en>{target}"), call, request, call.cost, sink)

    def failed_leg(self, *urls: str) -> Leg:
        """Return a leg that these replicas did not serve."""
        leg = self.leg()
        leg.tried_urls |= set(urls)
        leg.errors |= dict.fromkeys(urls, FAILURE)
        return leg

    def spend(self) -> None:
        while self.budget.withdraw():
            pass


def test_first_attempt_costs_nothing() -> None:
    setup = Setup()
    setup.spend()
    assert setup.policy.first(setup.leg(), FLEET).url in "abc"


def test_first_attempt_without_pair_raises_its_error() -> None:
    setup = Setup()
    with pytest.raises(UnknownPairError):
        setup.policy.first(setup.leg("ja"), FLEET)


def test_first_attempt_after_the_deadline_raises() -> None:
    setup = Setup()
    with pytest.raises(DeadlineExceededError):
        setup.policy.first(setup.leg(seconds=0), FLEET)


def test_next_attempt_goes_to_another_replica_and_is_paid() -> None:
    setup = Setup()
    leg = setup.failed_leg("a")
    left = setup.budget.left
    assert setup.policy.next(leg, FLEET).url in "bc"
    assert setup.budget.left == left - 1


def test_next_attempt_is_refused_without_budget() -> None:
    setup = Setup()
    setup.spend()
    leg = setup.failed_leg("a")
    with pytest.raises(ReplicaFailedError):
        setup.policy.next(leg, FLEET)


def test_next_attempt_over_the_limit_raises_most_useful_error() -> None:
    setup = Setup()
    leg = setup.failed_leg("a", "b")
    leg.errors["b"] = OverloadedError("full", retry_after=1)
    with pytest.raises(OverloadedError):
        setup.policy.next(leg, FLEET)


def test_next_attempt_without_untried_replica_raises_last_error() -> None:
    setup = Setup(max_attempts=9)
    leg = setup.failed_leg("a", "b", "c")
    with pytest.raises(ReplicaFailedError):
        setup.policy.next(leg, FLEET)


def test_unreachable_replicas_are_no_attempts() -> None:
    setup = Setup()
    leg = setup.failed_leg("a", "b")
    leg.unreachable_count = 2
    assert setup.policy.next(leg, FLEET).url == "c"


def test_unreachable_replicas_are_limited_too() -> None:
    setup = Setup()
    leg = setup.failed_leg(*(str(number) for number in range(MAX_UNREACHABLE)))
    leg.unreachable_count = MAX_UNREACHABLE
    with pytest.raises(ReplicaFailedError):
        setup.policy.next(leg, FLEET)


def test_abandoned_attempt_prepays_the_next_one() -> None:
    setup = Setup()
    leg = setup.failed_leg("a")
    assert setup.policy.may_abandon(leg, FLEET)
    setup.spend()
    assert setup.policy.next(leg, FLEET).url in "bc"
    with pytest.raises(ReplicaFailedError):
        setup.policy.next(leg, FLEET)


def test_prepaid_attempt_that_did_not_come_is_refunded() -> None:
    setup = Setup(max_attempts=9)
    leg, left = setup.failed_leg("a"), setup.budget.left
    assert setup.policy.may_abandon(leg, FLEET)
    assert setup.policy.may_abandon(leg, FLEET)
    setup.policy.next(leg, FLEET)
    setup.policy.refund(leg)
    assert setup.budget.left == left - 1
    setup.policy.refund(leg)
    assert setup.budget.left == left - 1, "once"


def test_only_replica_is_not_abandoned() -> None:
    setup = Setup()
    leg = setup.leg()
    leg.tried_urls |= {"a"}
    assert not setup.policy.may_abandon(leg, snapshot(replica("a", "en>de")))
    assert not setup.policy.may_abandon(leg, snapshot(remembered=("en>de",)))


def test_started_stream_is_not_abandoned() -> None:
    setup = Setup()
    leg = setup.leg(streams=True)
    leg.tried_urls |= {"a"}
    assert leg.sink is not None
    leg.sink(0, "Hal")
    assert not setup.policy.may_abandon(leg, FLEET)


def test_attempt_is_not_abandoned_without_budget() -> None:
    setup = Setup()
    setup.spend()
    leg = setup.leg()
    leg.tried_urls |= {"a"}
    assert not setup.policy.may_abandon(leg, FLEET)


def test_hedge_goes_to_another_replica_and_is_paid() -> None:
    setup = Setup()
    leg = setup.leg()
    first = setup.policy.first(leg, FLEET)
    leg.tried_urls.add(first.url)
    left = setup.budget.left
    hedge = setup.policy.hedge(first, leg, FLEET)
    assert hedge is not None
    assert hedge.url != first.url
    assert setup.budget.left == left - 1


def test_hedge_is_refused_without_budget_or_attempts() -> None:
    setup = Setup()
    leg = setup.leg()
    first = setup.policy.first(leg, FLEET)
    leg.tried_urls |= {first.url}
    setup.spend()
    assert setup.policy.hedge(first, leg, FLEET) is None
    leg.tried_urls |= {"a", "b"}
    assert setup.policy.hedge(first, leg, FLEET) is None


def test_hedge_refused_by_the_budget_costs_its_model_nothing() -> None:
    setup = Setup()
    leg = setup.leg()
    first = setup.policy.first(leg, FLEET)
    leg.tried_urls.add(first.url)
    latency = setup.stats.pair_stats(first.pair).latencies[first.rank]
    assert [latency.withdraw() for _ in range(int(HEDGE_BURST) - 1)].count(True) == int(HEDGE_BURST) - 1
    setup.spend()
    assert setup.policy.hedge(first, leg, FLEET) is None
    assert latency.withdraw()


def test_hedge_delay_is_none_where_no_hedge_may_begin() -> None:
    setup = Setup()
    leg = setup.leg()
    first = setup.policy.first(leg, FLEET)
    assert setup.policy.hedge_delay(first, leg, FLEET) is not None
    assert setup.policy.hedge_delay(first, setup.leg(streams=True), FLEET) is None
    assert setup.policy.hedge_delay(first, setup.leg(seconds=0.001), FLEET) is None
    assert setup.policy.hedge_delay(first, leg, snapshot(replica(first.url, "en>de"))) is None
    assert Setup(max_attempts=1).policy.hedge_delay(first, leg, FLEET) is None


def test_refused_pair_is_unavailable() -> None:
    setup = Setup()
    for _ in "abc":
        leg = setup.leg()
        with setup.stats.begin_attempt(setup.policy.first(leg, FLEET), leg.cost, lambda: None) as attempt:
            attempt.record_outcome(AttemptOutcome.REFUSED)
    with pytest.raises(PairUnavailableError, match="refuse"):
        setup.policy.first(setup.leg(), FLEET)


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
