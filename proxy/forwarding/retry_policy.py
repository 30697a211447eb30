"""Retry policy: whether, when and where a request is sent again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from proxy.balancing.attempt import Selection
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.fleet.snapshot import Snapshot
from proxy.forwarding.leg import Leg
from proxy.routing.routes import find_pair
from proxy.upstream.response_classifier import most_useful_error
from shared.protocol.errors import PairUnavailableError, PairwayError

# Unreachable replicas do not count as attempts, but are limited too.
MAX_UNREACHABLE: Final = 10

# Finagle's figures: https://finagle.github.io/blog/2016/02/08/retry-budgets/
REQUESTS_PER_ATTEMPT: Final = 5
FREE_PER_SECOND: Final = 10
LIFE_SECONDS: Final = 10
_RESERVE: Final = FREE_PER_SECOND * LIFE_SECONDS * REQUESTS_PER_ATTEMPT


class RetryBudget:
    """Budget of retries and hedges.

    One for every five requests, plus ten a second, of the last ten seconds. Slices and sum are in fifths of an attempt.
    """

    __slots__ = ("_clock", "_slices", "_sum", "second")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.second = int(clock())
        self._slices = [0] * LIFE_SECONDS
        self._sum = 0

    @property
    def left(self) -> int:
        """Number of attempts that the budget allows now."""
        self._forget()
        return (_RESERVE + self._sum) // REQUESTS_PER_ATTEMPT

    def deposit(self) -> None:
        """Add the share of one first attempt."""
        self._add(1)

    def withdraw(self) -> bool:
        """Pay for one more attempt, if possible."""
        if self.left < 1:
            return False
        self._add(-REQUESTS_PER_ATTEMPT)
        return True

    def refund(self, second: int) -> None:
        """Undo a withdrawal of that second, if it still counts."""
        self._forget()
        if second > self.second - LIFE_SECONDS:
            self._slices[second % LIFE_SECONDS] += REQUESTS_PER_ATTEMPT
            self._sum += REQUESTS_PER_ATTEMPT

    def _add(self, amount: int) -> None:
        self._forget()
        self._slices[self.second % LIFE_SECONDS] += amount
        self._sum += amount

    def _forget(self) -> None:
        now = int(self._clock())
        if now == self.second:
            return
        for second in range(self.second + 1, min(now, self.second + LIFE_SECONDS) + 1):
            place = second % LIFE_SECONDS
            self._sum -= self._slices[place]
            self._slices[place] = 0
        self.second = now


@dataclass(eq=False, slots=True)
class RetryPolicy:
    """Policy for the attempts of a request, paid from the retry budget.

    A request goes to no replica twice, and to at most ``max_attempts`` replicas, hedges included.
    """

    _selector: ReplicaSelector
    _stats: LocalStats
    _budget: RetryBudget
    _max_attempts: int

    @property
    def max_tries(self) -> int:
        """The most replicas tried, unreachable ones included."""
        return self._max_attempts + MAX_UNREACHABLE

    def first(self, leg: Leg, snapshot: Snapshot) -> Selection:
        """Return the replica for the first attempt.

        Raises:
            PairwayError: there is no replica, or the deadline has passed.
        """
        self._budget.deposit()
        selection = self._select(leg, snapshot)
        if isinstance(selection, PairwayError):
            raise selection
        return selection

    def next(self, leg: Leg, snapshot: Snapshot) -> Selection:
        """Select the replica after a failure, and pay for the attempt.

        Raises:
            PairwayError: the leg's most useful error, or the deadline has passed.
        """
        if self._is_exhausted(leg):
            raise most_useful_error(leg.errors.values())
        selection = self._select(leg, snapshot)
        if isinstance(selection, PairwayError):
            raise most_useful_error(leg.errors.values())
        if leg.prepaid_seconds:
            leg.prepaid_seconds.pop()
        elif not self._budget.withdraw():
            self._selector.release(selection)
            raise most_useful_error(leg.errors.values())
        return selection

    def hedge_delay(self, first: Selection, leg: Leg, snapshot: Snapshot) -> float | None:
        """Count the request; return the seconds before its hedge.

        None if there is none, as for streams.
        """
        latency = self._stats.pair_stats(first.pair).latencies[first.rank]
        latency.record_request()
        if leg.sink is not None or self._max_attempts == 1 or len(snapshot.ready[first.pair]) == 1:
            return None
        delay = latency.delay(leg.cost.work)
        return None if delay is None or delay >= leg.call.deadline.remaining() else delay

    def hedge(self, first: Selection, leg: Leg, snapshot: Snapshot) -> Selection | None:
        """Select the replica for a hedge and pay, or return None."""
        if self._is_exhausted(leg):
            return None
        selection = self._selector.select_hedge(first, leg.tried_urls, leg.cost, snapshot)
        if selection is None:
            return None
        latency = self._stats.pair_stats(first.pair).latencies[first.rank]
        # In this order, because neither may pay where the other refuses.
        is_paid = latency.can_hedge and self._budget.withdraw() and latency.withdraw()
        return selection if is_paid else None

    def may_abandon(self, leg: Leg, snapshot: Snapshot) -> bool:
        """Decide whether to abandon a lost replica; pay for the next attempt.

        If no other replica can take over, keep waiting: the lost one may still answer.
        """
        if leg.is_started or self._is_exhausted(leg) or not self._has_untried_replica(leg, snapshot):
            return False
        if not self._budget.withdraw():
            return False
        leg.prepaid_seconds.append(self._budget.second)
        return True

    def refund(self, leg: Leg) -> None:
        """Refund attempts that a finished leg paid for and did not make."""
        while leg.prepaid_seconds:
            self._budget.refund(leg.prepaid_seconds.pop())

    def _is_exhausted(self, leg: Leg) -> bool:
        return leg.attempts >= self._max_attempts or leg.unreachable_count >= MAX_UNREACHABLE

    def _select(self, leg: Leg, snapshot: Snapshot) -> Selection | PairwayError:
        """Return an untried replica or an error; raise DeadlineExceededError."""
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
        try:
            pair = find_pair(leg.pair, snapshot)
        except PairwayError:
            return False
        return any(
            url not in leg.tried_urls and not self._stats.pair_replica_stats(url, pair).refused
            for url in snapshot.ready[pair]
        )
