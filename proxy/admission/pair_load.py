"""PairLoad: the load of a pair's replicas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from proxy.balancing.capacity import Capacity
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair
from shared.protocol.priority import Lane, Priority

# Units per second until a replica has measured its rate; only for Retry-After.
UNKNOWN_RATE: Final = 10.0


class ReplicaOutError(Exception):
    """The replica is excluded or stalled."""


class PairLoad(NamedTuple):
    """Combined limit and rate of replicas, and the lowest load.

    ``excess``: seconds until the first one is below its limit; ``levels``: lowest load, 1 if full; ``waits``: seconds
    of work ahead. The latter two are for callers with requests in flight, and for new ones, before whom only the number
    of callers counts.
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
        for capacity in capacities:
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


def capacity_of(
    url: str, pair: LanguagePair, model: str, priority: Priority, local_stats: LocalStats
) -> Capacity | None:
    """Return a replica's capacity, or None if not reported.

    Raises:
        ReplicaOutError: the replica gets no requests.
    """
    stats = local_stats.pair_replica_stats(url, pair)
    if stats.is_stalled or stats.breaker.opened_at is not None:
        raise ReplicaOutError
    replica = stats.replica
    capacity = replica.capacity.of(model, priority.rank)
    if capacity is None or not replica.full_until:
        return capacity
    if replica.is_full(local_stats.now(), Lane.of(priority, is_long=False)):
        return capacity._replace(ahead=max(capacity.ahead, capacity.limit), callers=capacity.limit)
    return capacity


def measure_load(
    pair: LanguagePair, priority: Priority, snapshot: Snapshot, local_stats: LocalStats
) -> PairLoad | None:
    """Return the load of the preferred replicas that are not out.

    None if one reports no capacity or all are out: admission refuses nothing.
    """
    for urls in snapshot.tiers.get(pair, ()):
        capacities: list[Capacity] = []
        for url in urls:
            try:
                capacity = capacity_of(url, pair, snapshot.models[pair][url], priority, local_stats)
            except ReplicaOutError:
                continue
            if capacity is None:
                return None
            capacities.append(capacity)
        if capacities:
            return PairLoad.of(capacities)
    return None
