"""Hedging: a second attempt during a slow one; the first answer wins.

A hedge begins when its request takes longer than nearly all others of its model. Each request earns a part of a hedge
for its model, and the retry budget pays as for a retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

from proxy.balancing.local_stats import LocalStats, ModelLatency, Selection
from proxy.balancing.selector import ReplicaSelector
from proxy.fleet.snapshot import Snapshot
from proxy.forwarding.retry_policy import LegProgress, RetryBudget
from proxy.upstream.http_client import UpstreamCall
from shared.protocol.errors import RelayedError

# Dean and Barroso, The Tail at Scale (CACM 2013).
HEDGE_SHARE: Final = 0.05
# A hung replica catches 1 to 9 requests (docs/decisions/0013-balancing.md).
HEDGE_BURST: Final = 10.0
# A hedge itself costs about a millisecond.
SHORTEST_DELAY_SECONDS: Final = 0.010


class HedgeWonError(Exception):
    """The hedge was answered before the first attempt."""


@dataclass(eq=False, slots=True)
class HedgingPolicy:
    """Policy for hedges: when, where, and what they cost."""

    _selector: ReplicaSelector
    _stats: LocalStats
    _budget: RetryBudget
    _max_attempts: int

    def earn(self, first: Selection) -> None:
        """Earn a request's share of a hedge for its model."""
        latency = self._latency(first)
        latency.hedge_debt = max(0.0, latency.hedge_debt - HEDGE_SHARE)

    def delay(self, first: Selection, progress: LegProgress, snapshot: Snapshot) -> float | None:
        """Return the seconds before the hedge; None for streams and slow fleets."""
        leg = progress.leg
        if leg.sink is not None or self._max_attempts == 1 or len(snapshot.ready[first.pair]) == 1:
            return None
        latency = self._latency(first)
        if latency.is_slow:
            return None
        delay = max(SHORTEST_DELAY_SECONDS, latency.late_seconds * leg.cost.work)
        return None if delay >= leg.call.deadline.remaining() else delay

    def begin(self, first: Selection, progress: LegProgress, snapshot: Snapshot) -> Selection | None:
        """Select the replica for a hedge and pay; None if refused."""
        if progress.is_exhausted(self._max_attempts):
            return None
        selection = self._selector.select_hedge(first, progress.tried_urls, progress.leg.cost, snapshot)
        if selection is None:
            return None
        latency = self._latency(first)
        # In this order: the model pays only for what the budget allows.
        if latency.hedge_debt > HEDGE_BURST - 1 or not self._budget.withdraw():
            return None
        latency.hedge_debt += 1
        return selection

    def _latency(self, first: Selection) -> ModelLatency:
        return self._stats.pairs[first.pair].latencies[first.rank]


class Hedge:
    """Starts a second attempt after ``delay`` seconds, by ``begin`` (None: refused).

    The ``first`` attempt's call is abandoned if the second wins.
    """

    __slots__ = ("_begin", "_delay", "_timer", "first", "second")

    def __init__(self, delay: float, begin: Callable[[], asyncio.Task[bytes] | None]) -> None:
        self._delay = delay
        self._begin = begin
        self._timer: asyncio.TimerHandle | None = None
        self.first: UpstreamCall | None = None
        self.second: asyncio.Task[bytes] | None = None

    def __enter__(self) -> Self:
        self._timer = asyncio.get_running_loop().call_later(self._delay, self._start)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.second is not None:
            self.second.cancel()

    def _start(self) -> None:
        self.second = self._begin()
        if self.second is not None:
            self.second.add_done_callback(self._end)

    def _end(self, second: asyncio.Task[bytes]) -> None:
        """End the first attempt if the second was answered."""
        if second.cancelled() or self.first is None:
            return
        error = second.exception()
        if error is None or isinstance(error, RelayedError):
            self.first.abandon(HedgeWonError())
