"""PairLoad: how full the replicas of a pair are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Self

from proxy.balancing.capacity import Capacity
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair
from shared.protocol.lanes import Lane
from shared.protocol.priority import Priority

# What is done in a second while no replica has measured it: it is for the Retry-After alone.
UNKNOWN_RATE: Final = 10.0
# So many replicas are measured for each request, in a microsecond each. Of more a measurement is used for so many seconds
# for each of them, so that measuring takes some percent of the time: 50 ms with 1,000, in which they fill by less than
# they do until the next report.
FEW_REPLICAS: Final = 8
SECONDS_PER_REPLICA: Final = 50e-6


class PairLoad(NamedTuple):
    """Combined limit and rate of the replicas that can serve a pair.

    And the load of the least loaded one. ``excess`` are the seconds until the first is no longer over its limit.
    ``levels`` say how full the emptiest is, 1 for full, and ``waits`` in how many seconds what is ahead there is done:
    for a caller with something in flight, and for a newcomer, for whom only the number of callers counts, who are
    served in turn.
    """

    limit: float
    rate: float
    excess: float
    levels: tuple[float, float]
    waits: tuple[float, float]

    @classmethod
    def of(cls, capacities: Sequence[Capacity]) -> Self:
        """Combine the capacities of at least one replica."""
        limit = rate = 0.0
        excess = level = newcomer_level = wait = newcomer_wait = math.inf
        for capacity in capacities:  # one pass: each request comes by here
            limit += capacity.limit
            if capacity.rate:
                rate += capacity.rate
                excess = min(excess, max(0.0, capacity.ahead - capacity.limit) / capacity.rate)
                wait = min(wait, capacity.ahead / capacity.rate)
                newcomer_wait = min(newcomer_wait, capacity.callers / capacity.rate)
            else:
                excess = wait = newcomer_wait = 0.0
            if capacity.limit:
                level = min(level, capacity.ahead / capacity.limit)
                newcomer_level = min(newcomer_level, capacity.callers / capacity.limit)
            else:
                level, newcomer_level = min(level, 1.0), min(newcomer_level, 1.0)
        return cls(limit, rate or UNKNOWN_RATE, excess, (level, newcomer_level), (wait, newcomer_wait))


class PairLoadMeter:
    """Measures the load of pairs, by priority.

    Mutable state: the loads of one Snapshot: until when each is used, and what was measured.
    """

    def __init__(self, local_stats: LocalStats, clock: Callable[[], float]) -> None:
        """Begin with nothing measured; ``clock`` gives monotonic seconds."""
        self._local_stats = local_stats
        self._clock = clock
        self._loads: dict[tuple[LanguagePair, Priority], tuple[float, PairLoad | None]] = {}
        self._snapshot: Snapshot | None = None

    def load(self, pair: LanguagePair, priority: Priority, snapshot: Snapshot) -> PairLoad | None:
        """Return the pair's load; cached for a moment with many replicas."""
        tiers = snapshot.tiers.get(pair, ())
        if len(tiers) == 1 and len(tiers[0]) <= FEW_REPLICAS:
            return self._measure(tiers, priority, pair, snapshot)
        if self._snapshot is not snapshot:
            self._snapshot, self._loads = snapshot, {}
        until, load = self._loads.get((pair, priority), (0.0, None))
        now = self._clock()
        if now >= until:
            load = self._measure(tiers, priority, pair, snapshot)
            self._loads[pair, priority] = now + SECONDS_PER_REPLICA * sum(map(len, tiers)), load
        return load

    def _measure(
        self, tiers: Sequence[Sequence[str]], priority: Priority, pair: LanguagePair, snapshot: Snapshot
    ) -> PairLoad | None:
        """Return the load of the preferred replicas that are not out.

        None where one does not say how full it is.
        """
        lane, now, models = Lane.of(priority, is_long=False), self._clock(), snapshot.models.get(pair, {})
        for urls in tiers:
            capacities: list[Capacity] = []
            for url in urls:
                stats = self._local_stats.pair_replica_stats(url, pair)
                if stats.is_out or stats.is_stalled:
                    continue
                capacity = stats.replica.capacity_for(models[url], priority)
                if capacity is None:
                    return None
                if stats.replica.is_full(now, lane):
                    ahead = max(capacity.ahead, capacity.limit)
                    capacity = capacity._replace(ahead=ahead, callers=capacity.limit)
                capacities.append(capacity)
            if capacities:
                return PairLoad.of(capacities)
        return None  # whichever replica is left is asked, however full it is
