"""Retry policy: whether, when and where a request is sent again. Pure."""

from __future__ import annotations

from typing import Final

from proxy.balancing.attempt import Selection
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.fleet.snapshot import Snapshot
from proxy.forwarding.leg import AttemptFailedError, Leg
from proxy.forwarding.retry_budget import RetryBudget
from proxy.routing.routes import find_pair
from proxy.upstream.response_classifier import most_useful_error
from shared.protocol.errors import PairUnavailableError, PairwayError

# A replica that cannot be reached costs next to nothing, and its breaker opens at once: it does not count among the
# attempts that a request may make, but no request tries more such replicas than these.
MAX_UNREACHABLE: Final = 10


class RetryPolicy:
    """Decides on each attempt of a request.

    What it allows is paid from the retry budget. A request is sent to no replica twice, and to ``max_attempts``
    replicas at most, hedges included.
    """

    def __init__(self, selector: ReplicaSelector, stats: LocalStats, budget: RetryBudget, max_attempts: int) -> None:
        self._selector = selector
        self._stats = stats
        self._budget = budget
        self._max_attempts = max_attempts

    @property
    def max_tries(self) -> int:
        """The most replicas that one request tries, unreachable ones included."""
        return self._max_attempts + MAX_UNREACHABLE

    def first(self, leg: Leg, snapshot: Snapshot) -> Selection:
        """Return the replica for the first attempt.

        Raises:
            PairwayError: there is none, or the time is over.
        """
        self._budget.deposit()
        selection = self._select(leg, snapshot)
        if isinstance(selection, PairwayError):
            raise selection
        return selection

    def next(self, leg: Leg, last: AttemptFailedError, snapshot: Snapshot) -> Selection:
        """Select the replica for the attempt after a failure; pay for it.

        Raises:
            PairwayError: no further attempt may be made; says how the others failed, or that the time is over.
        """
        error = most_useful_error(leg.errors.values()) if leg.errors else last.error
        if self._is_exhausted(leg):
            raise error
        selection = self._select(leg, snapshot)
        if isinstance(selection, PairwayError):
            raise error
        if leg.prepaid_attempts:
            leg.prepaid_attempts -= 1
        elif not self._budget.withdraw():
            self._selector.release(selection)
            raise error
        return selection

    def hedge_delay(self, first: Selection, leg: Leg, snapshot: Snapshot) -> float | None:
        """Return the seconds after which a hedge may begin.

        None: never, as for streams and while the fleet is slow. The hedge policy counts the request.
        """
        hedge_policy = self._stats.pair_stats(first.pair).latencies[first.rank].hedge_policy
        hedge_policy.record_request()
        if leg.sink is not None or self._max_attempts == 1 or len(snapshot.ready[first.pair]) == 1:
            return None
        delay = hedge_policy.delay(leg.cost.work)
        return None if delay is None or delay >= leg.call.deadline.remaining() else delay

    def hedge(self, first: Selection, leg: Leg, snapshot: Snapshot) -> Selection | None:
        """Select the replica for a hedge; pay for it.

        None: it may not be made.
        """
        if self._is_exhausted(leg):
            return None
        selection = self._selector.select_hedge(first, leg.tried_urls, leg.cost, snapshot)
        hedge_policy = self._stats.pair_stats(first.pair).latencies[first.rank].hedge_policy
        if selection is None or not hedge_policy.withdraw() or not self._budget.withdraw():
            return None
        return selection

    def may_abandon(self, leg: Leg, snapshot: Snapshot) -> bool:
        """Decide whether to stop waiting for a lost replica; pay for the next attempt.

        Not where no other replica can take over: the lost one may still answer.
        """
        if leg.is_started or self._is_exhausted(leg) or not self._has_untried_replica(leg, snapshot):
            return False
        if not self._budget.withdraw():
            return False
        leg.prepaid_attempts += 1
        return True

    def _is_exhausted(self, leg: Leg) -> bool:
        """Say whether the request was sent as often as it may be."""
        return leg.attempts >= self._max_attempts or leg.unreachable_count >= MAX_UNREACHABLE

    def _select(self, leg: Leg, snapshot: Snapshot) -> Selection | PairwayError:
        """Select the best untried replica, or return the error for the client.

        Raises:
            DeadlineExceededError: the time is over.
        """
        try:
            pair = find_pair(leg.pair, snapshot)
        except PairwayError as error:
            return error
        if leg.call.deadline.remaining() <= 0:
            raise leg.call.deadline.exceeded_error()
        selection = self._selector.select(pair, leg.tried_urls, leg.cost, snapshot)
        if selection is None:
            why = "the replicas that report it refuse it"
            retry_after = self._stats.retry_in(pair, snapshot.ready[pair])
            return PairUnavailableError(str(pair), why, retry_after=retry_after)
        return selection

    def _has_untried_replica(self, leg: Leg, snapshot: Snapshot) -> bool:
        """Say whether the request could still go to another replica."""
        try:
            pair = find_pair(leg.pair, snapshot)
        except PairwayError:
            return False
        return any(
            url not in leg.tried_urls and not self._stats.pair_replica_stats(url, pair).refused
            for url in snapshot.ready[pair]
        )
