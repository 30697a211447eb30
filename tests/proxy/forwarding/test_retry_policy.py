"""Which attempts a request may make, and what they cost, without any network."""

from __future__ import annotations

from random import Random

import pytest

from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.call import TranslationCall
from proxy.forwarding.leg import AttemptFailedError, Leg
from proxy.forwarding.retry_budget import RetryBudget
from proxy.forwarding.retry_policy import MAX_UNREACHABLE, RetryPolicy
from proxy.keys.caller import Caller
from proxy.upstream.response_classifier import AttemptOutcome
from shared.protocol.deadline import Deadline
from shared.protocol.errors import (
    DeadlineExceededError,
    OverloadedError,
    PairUnavailableError,
    ReplicaFailedError,
    UnknownPairError,
)
from shared.protocol.messages import TranslateRequest
from shared.protocol.priority import Priority
from shared.protocol.sse import DeltaSink
from shared.runtime.metrics import RequestSample
from tests.proxy.clock import HandClock
from tests.proxy.samples import pair, replica, snapshot

EN_DE = pair("en>de")
FLEET = snapshot(*(replica(url, "en>de") for url in "abc"))
FAILURE = AttemptFailedError(ReplicaFailedError("x"))


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
        call = TranslationCall(request, Caller("c"), Priority.INTERACTIVE, deadline, "id", RequestSample())
        sink = DeltaSink(lambda _index, _text: None) if streams else None
        return Leg(pair(f"en>{target}"), call, request, call.cost, sink)

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
    leg = setup.leg()
    leg.tried_urls |= {"a"}
    left = setup.budget.left
    assert setup.policy.next(leg, FAILURE, FLEET).url in "bc"
    assert setup.budget.left == left - 1


def test_next_attempt_is_refused_without_budget() -> None:
    setup = Setup()
    setup.spend()
    leg = setup.leg()
    leg.tried_urls |= {"a"}
    with pytest.raises(ReplicaFailedError):
        setup.policy.next(leg, FAILURE, FLEET)


def test_next_attempt_over_the_limit_raises_most_useful_error() -> None:
    setup = Setup()
    leg = setup.leg()
    leg.tried_urls |= {"a", "b"}
    leg.errors |= {"a": FAILURE.error, "b": OverloadedError("full", retry_after=1)}
    with pytest.raises(OverloadedError):
        setup.policy.next(leg, FAILURE, FLEET)


def test_next_attempt_without_untried_replica_raises_last_error() -> None:
    setup = Setup(max_attempts=9)
    leg = setup.leg()
    leg.tried_urls |= {"a", "b", "c"}
    with pytest.raises(ReplicaFailedError):
        setup.policy.next(leg, FAILURE, FLEET)


def test_unreachable_replicas_are_no_attempts() -> None:
    setup = Setup()
    leg = setup.leg()
    leg.tried_urls |= {"a", "b"}
    leg.unreachable_count = 2
    assert setup.policy.next(leg, FAILURE, FLEET).url == "c"


def test_unreachable_replicas_are_limited_too() -> None:
    setup = Setup()
    leg = setup.leg()
    leg.tried_urls |= {str(number) for number in range(MAX_UNREACHABLE)}
    leg.unreachable_count = MAX_UNREACHABLE
    with pytest.raises(ReplicaFailedError):
        setup.policy.next(leg, FAILURE, FLEET)


def test_abandoned_attempt_prepays_the_next_one() -> None:
    setup = Setup()
    leg = setup.leg()
    leg.tried_urls |= {"a"}
    assert setup.policy.may_abandon(leg, FLEET)
    setup.spend()
    assert setup.policy.next(leg, FAILURE, FLEET).url in "bc"
    with pytest.raises(ReplicaFailedError):
        setup.policy.next(leg, FAILURE, FLEET)


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
