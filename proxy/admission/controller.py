"""AdmissionController: which requests the proxy accepts (docs/decisions/0017-overload.md)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Final, NamedTuple, Self

from proxy.admission.retry_after import RetryAfter
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.replica_stats import Capacity
from proxy.call import Leg
from proxy.fleet.snapshot import Snapshot
from proxy.metrics import ProxyMetrics
from shared.languages import LanguagePair
from shared.protocol.errors import REASONS_OF_ONE_REQUEST, OverloadedError
from shared.protocol.priority import Lane, Priority

# Units per second until a replica has measured its rate; only for Retry-After.
UNKNOWN_RATE: Final = 10.0
# Rounding errors stay below this; a request costs at least 1.
_ROUNDING_UNITS: Final = 1e-6
# The part of the capacity that a caller with its fair share leaves to others.
RESERVE: Final = 0.2
# Replicas checked first; if all are full, the pair's load is measured.
LOOKS: Final = 4
MESSAGES: Final = {
    "full": "Every replica for {} is full for {} requests.",
    "share": "The replicas for {} are nearly full of {} requests, and your share of them is in flight.",
    "late": "The replicas for {} have too many {} requests ahead of yours to answer within your timeout.",
}


class ReplicaOutError(Exception):
    """The replica is excluded or stalled."""


class PairLoad(NamedTuple):
    """Combined limit and rate of replicas, and the lowest load.

    ``excess``: seconds until the first is below its limit; ``levels``: lowest load, 1 if full; ``waits``: seconds of
    work ahead. The latter two are for callers with requests in flight, and for new ones, before whom only callers
    count.
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
    """Return a replica's capacity if reported; raise ReplicaOutError if it is out."""
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

    None, so that nothing is refused: one reports no capacity, or all are out.
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


class FairShare:
    """The callers of one model, with their units in flight."""

    __slots__ = ("_retry_after", "units")

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        self.units: dict[str, float] = {}
        self._retry_after = RetryAfter(clock, rng)

    def add(self, caller: str, units: float) -> None:
        """Count a caller's request as in flight."""
        self.units[caller] = self.units.get(caller, 0.0) + units

    def remove(self, caller: str, units: float) -> None:
        """Count a caller's request as ended."""
        left = self.units[caller] - units
        if left > _ROUNDING_UNITS:
            self.units[caller] = left
        else:
            del self.units[caller]

    def schedule_return(self, leg: Leg, load: PairLoad | None) -> int:
        """Schedule a refused request's return; return the seconds until then."""
        rate, excess = (UNKNOWN_RATE, 0.0) if load is None else (load.rate, load.excess)
        return self._retry_after.schedule(leg.call.caller.identity, leg.cost.units, rate, excess)


class PairOffer(NamedTuple):
    """A pair in one snapshot: its callers and preferred replicas.

    ``limits``: combined, by priority rank; None until computed, 0 if unknown.
    """

    share: FairShare
    urls: Sequence[str]
    models: Mapping[str, str]
    limits: list[float | None]


class AdmissionController:
    """Admission of short requests; replicas decide on long ones."""

    def __init__(self, local_stats: LocalStats, metrics: ProxyMetrics, clock: Callable[[], float], rng: Random) -> None:
        self._local_stats = local_stats
        self._metrics = metrics
        self._shares: defaultdict[str, FairShare] = defaultdict(lambda: FairShare(clock, rng))
        self._rng = rng
        self._snapshot: Snapshot | None = None
        self._pairs: dict[LanguagePair, PairOffer] = {}

    def admit(self, legs: Sequence[Leg], snapshot: Snapshot) -> AdmittedRequest:
        """Admit all legs, or none, for a ``with`` block; or raise OverloadedError.

        A refusal by the replica inside the block gets our Retry-After as well (single-leg requests only).
        """
        if snapshot is not self._snapshot:
            self._snapshot, self._pairs = snapshot, {}
        short_legs: list[tuple[Leg, FairShare]] = []
        for leg in legs:
            if leg.cost.is_long:
                continue
            offer = self._pairs.get(leg.pair) or self._add_pair(leg.pair, snapshot)
            if not self._has_space(leg, offer, snapshot):
                load = measure_load(leg.pair, leg.call.priority, snapshot, self._local_stats)
                if load is not None:
                    self._refuse_without_space(leg, load, offer.share)
            short_legs.append((leg, offer.share))
        return AdmittedRequest(self._local_stats, short_legs, snapshot, has_one_leg=len(legs) == len(short_legs) == 1)

    def _add_pair(self, pair: LanguagePair, snapshot: Snapshot) -> PairOffer:
        tiers = snapshot.tiers.get(pair) or ((),)
        models = snapshot.models.get(pair, {})
        model = models[tiers[0][0]] if tiers[0] else str(pair)
        offer = self._pairs[pair] = PairOffer(self._shares[model], tiers[0], models, [None] * len(Priority))
        return offer

    def _has_space(self, leg: Leg, offer: PairOffer, snapshot: Snapshot) -> bool:
        call, pair, local_stats = leg.call, leg.pair, self._local_stats
        share, urls, priority = offer.share, offer.urls, call.priority
        limit = offer.limits[priority.rank]
        if limit is None:
            load = measure_load(pair, priority, snapshot, local_stats)
            limit = offer.limits[priority.rank] = 0.0 if load is None else load.limit
        if not limit:
            return False
        units = share.units.get(call.caller.identity, 0.0)
        level = 1.0 - RESERVE * units * len(share.units) / limit
        start = int(self._rng.random() * len(urls))
        for url in urls[start : start + LOOKS]:
            try:
                capacity = capacity_of(url, pair, offer.models[url], priority, local_stats)
            except ReplicaOutError:
                continue
            if capacity is None:
                return False
            ahead = capacity.ahead if units else capacity.callers
            if ahead < level * capacity.limit:
                return not capacity.rate or ahead <= capacity.rate * call.deadline.remaining()
        return False

    def _refuse_without_space(self, leg: Leg, load: PairLoad, share: FairShare) -> None:
        call, pair = leg.call, leg.pair
        units = share.units.get(call.caller.identity, 0.0)
        is_newcomer = not units
        callers = len(share.units) + is_newcomer
        share_used = units / (load.limit / callers) if load.limit else 1.0
        if load.levels[is_newcomer] >= 1.0 - RESERVE * share_used:
            reason = "full" if load.levels[0] >= 1.0 or callers == 1 else "share"
        elif load.waits[is_newcomer] > call.deadline.remaining():
            reason = "late"
        else:
            return
        self._metrics.shed.labels(str(pair), call.priority, reason).inc()
        wait = share.schedule_return(leg, load)
        raise OverloadedError(MESSAGES[reason].format(pair, call.priority), retry_after=wait, facts={"reason": reason})


@dataclass(eq=False, slots=True)
class AdmittedRequest:
    """An admitted request; its short legs count while the block lasts."""

    _local_stats: LocalStats
    _legs: Sequence[tuple[Leg, FairShare]]
    _snapshot: Snapshot
    has_one_leg: bool

    def __enter__(self) -> None:
        for leg, share in self._legs:
            share.add(leg.call.caller.identity, leg.cost.units)

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if (
            self.has_one_leg
            and isinstance(error, OverloadedError)
            and error.facts.get("reason") not in REASONS_OF_ONE_REQUEST
        ):
            leg, share = self._legs[0]
            load = measure_load(leg.pair, leg.call.priority, self._snapshot, self._local_stats)
            wait = share.schedule_return(leg, load)
            error.retry_after = max(error.retry_after or 0.0, wait)
        for leg, share in self._legs:
            share.remove(leg.call.caller.identity, leg.cost.units)
