"""Retry policy: whether, when and where a request is sent again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from proxy.balancing.local_stats import LocalStats, Selection
from proxy.balancing.selector import ReplicaSelector
from proxy.call import Leg
from proxy.fleet.snapshot import Snapshot
from proxy.routing.routes import find_pair
from proxy.upstream.response_classifier import most_useful_error
from shared.languages import LanguagePair
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

    One for every five requests, plus ten a second, of the last ten seconds; counted in fifths.
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


@dataclass(eq=False, slots=True)  # not frozen: it changes, and frozen is three times slower to create
class LegProgress:
    """Attempts of a leg so far.

    ``prepaid_seconds``: seconds of the retry budget that paid attempts not made yet.
    """

    leg: Leg
    tried_urls: set[str] = field(default_factory=set[str])
    errors: dict[str, PairwayError] = field(default_factory=dict[str, "PairwayError"])
    unreachable_count: int = 0
    prepaid_seconds: list[int] = field(default_factory=list[int])

    @property
    def attempts(self) -> int:
        """Number of replicas reached."""
        return len(self.tried_urls) - self.unreachable_count

    @property
    def is_started(self) -> bool:
        """Whether a part was streamed: no other replica can take over."""
        return self.leg.sink is not None and self.leg.sink.started

    def is_exhausted(self, max_attempts: int) -> bool:
        """Return whether no further replica may be tried."""
        return self.attempts >= max_attempts or self.unreachable_count >= MAX_UNREACHABLE


@dataclass(eq=False, slots=True)
class RetryPolicy:
    """Policy for a request's attempts, paid from the retry budget.

    No replica gets it twice, and at most ``max_attempts`` get it, hedges included.
    """

    _selector: ReplicaSelector
    _stats: LocalStats
    _budget: RetryBudget
    _max_attempts: int

    @property
    def max_tries(self) -> int:
        """The most replicas that a request is sent to, also in vain."""
        return self._max_attempts + MAX_UNREACHABLE

    def begin(self, progress: LegProgress, snapshot: Snapshot) -> Selection:
        """Select the first replica, depositing a retry's share; or raise PairwayError."""
        self._budget.deposit()
        selection = self._select(progress, snapshot)
        if isinstance(selection, PairwayError):
            raise selection
        return selection

    def begin_retry(self, progress: LegProgress, snapshot: Snapshot) -> Selection:
        """Select and pay after a failure, or raise the most useful error."""
        if progress.is_exhausted(self._max_attempts):
            raise most_useful_error(progress.errors.values())
        selection = self._select(progress, snapshot)
        if isinstance(selection, PairwayError):
            raise most_useful_error(progress.errors.values())
        if progress.prepaid_seconds:
            progress.prepaid_seconds.pop()
        elif not self._budget.withdraw():
            self._selector.release(selection)
            raise most_useful_error(progress.errors.values())
        return selection

    def prepay(self, progress: LegProgress, snapshot: Snapshot) -> bool:
        """Pay for the attempt that takes over from a lost replica.

        False: none may, so wait on, because the lost replica may still answer.
        """
        if (
            progress.is_started
            or progress.is_exhausted(self._max_attempts)
            or not self._has_untried_replica(progress, snapshot)
            or not self._budget.withdraw()
        ):
            return False
        progress.prepaid_seconds.append(self._budget.second)
        return True

    def refund(self, progress: LegProgress) -> None:
        """Refund attempts that a finished leg paid for and did not make."""
        while progress.prepaid_seconds:
            self._budget.refund(progress.prepaid_seconds.pop())

    def _select(self, progress: LegProgress, snapshot: Snapshot) -> Selection | PairwayError:
        """Return an untried replica or an error; raise DeadlineExceededError."""
        leg = progress.leg
        try:
            pair = _serving_pair(leg, snapshot)
        except PairwayError as error:
            return error
        if leg.call.deadline.remaining() <= 0:
            raise leg.call.deadline.exceeded_error()
        selection = self._selector.select(pair, progress.tried_urls, leg.cost, snapshot)
        if selection is None:
            why = "the replicas that report it refuse it"
            retry_after = self._stats.retry_in(pair, snapshot.ready[pair])
            return PairUnavailableError(str(pair), why, retry_after=retry_after)
        return selection

    def _has_untried_replica(self, progress: LegProgress, snapshot: Snapshot) -> bool:
        try:
            pair = _serving_pair(progress.leg, snapshot)
        except PairwayError:
            return False
        return any(
            url not in progress.tried_urls and not self._stats.pair_replica_stats(url, pair).refused
            for url in snapshot.ready[pair]
        )


def _serving_pair(leg: Leg, snapshot: Snapshot) -> LanguagePair:
    """Return the leg's own pair if it is ready, else the closest."""
    return leg.pair if snapshot.ready.get(leg.pair) else find_pair(leg.wanted, snapshot)
