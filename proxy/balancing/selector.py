"""ReplicaSelector: chooses the replica for one attempt, the best of a few."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from proxy.balancing.local_stats import LocalStats, Selection
from proxy.balancing.replica_stats import SLOW_START_SECONDS
from proxy.call import RequestCost
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair

# A new replica's warmth grows from this to 1 in SLOW_START_SECONDS.
WARM_FLOOR: Final = 0.1
# Three cut the 99th percentile of two by a quarter at 70 % load (docs/decisions/0013-balancing.md).
CHOICES: Final = 3
# With half of the replicas excluded, 99.8 % of the picks draw three eligible ones.
DRAWS: Final = 16
# If 100 replicas are full, the rest is full too.
MAX_EVALUATED: Final = 100
# Estimated seconds this near are equal, so that idle replicas share the work.
NEAR: Final = 0.2
NEAR_SECONDS: Final = 0.005
_NONE_EJECTED: Final = frozenset[str]()


@dataclass(slots=True)  # not frozen: frozen is three times slower to create
class EligibleReplica:
    """Properties of a replica that decide its score.

    ``latency``: seconds per unit of work; ``in_flight``: units of work; ``weight`` > 0; ``penalty``: seconds.
    """

    latency: float
    in_flight: float
    weight: float
    penalty: float
    warmth: float = 1.0


def warmth(age: float) -> float:
    """Return the warmth ``age`` seconds after a replica joined."""
    return min(1.0, WARM_FLOOR + (1 - WARM_FLOOR) * max(0.0, age) / SLOW_START_SECONDS)


def score(replica: EligibleReplica, work: float) -> float:
    """Return seconds / weight + penalty; lower is better."""
    return replica.latency * (replica.in_flight + work) / replica.weight + replica.penalty


def pick(
    urls: Sequence[str], evaluate: Callable[[str], EligibleReplica | None], work: float, rng: Random
) -> str | None:
    """Return the best of a few random eligible replicas, or None.

    ``evaluate`` returns None for an ineligible one. A large fleet's few eligible ones may be missed.
    """
    best_url: str | None = None
    best: EligibleReplica | None = None
    best_seconds = 0.0
    seen: list[str] = []
    for url in _draw(urls, rng):
        if url in seen or (replica := evaluate(url)) is None:
            continue
        # Without the weight, which says nothing about speed.
        seconds = replica.latency * (replica.in_flight + work) + replica.penalty
        if best is None or _is_better(replica, seconds, best, best_seconds, work, rng):
            best_url, best, best_seconds = url, replica, seconds
        seen.append(url)
        if len(seen) == CHOICES:
            break
    return best_url


def _is_better(
    replica: EligibleReplica, seconds: float, best: EligibleReplica, best_seconds: float, work: float, rng: Random
) -> bool:
    ours, theirs = replica.warmth, best.warmth
    if ours != theirs and rng.random() >= min(ours, theirs) / max(ours, theirs):
        return ours > theirs
    difference, smaller = (
        (best_seconds - seconds, seconds) if seconds < best_seconds else (seconds - best_seconds, best_seconds)
    )
    if difference <= NEAR_SECONDS or difference <= NEAR * smaller:
        return rng.random() * (replica.weight + best.weight) < replica.weight
    if replica.weight == best.weight == 1.0:  # the seconds are the score
        return seconds < best_seconds
    return score(replica, work) < score(best, work)


def _draw(urls: Sequence[str], rng: Random) -> Iterator[str]:
    count = len(urls)
    if count > CHOICES:
        for _ in range(DRAWS):
            yield urls[int(rng.random() * count)]
    start = int(rng.random() * count)
    for index in range(start - min(count, MAX_EVALUATED), start):
        yield urls[index]


@dataclass(eq=False, slots=True)
class ReplicaSelector:
    """Selector by snapshot and local statistics."""

    _local_stats: LocalStats
    _rng: Random

    def select(
        self, pair: LanguagePair, tried: Collection[str], cost: RequestCost, snapshot: Snapshot
    ) -> Selection | None:
        """Return a replica; None if all were tried or refuse the pair.

        By model, the preferred first: one due for a trial (never for a request that failed before), else a healthy one
        with capacity. Else a full one; if every replica looks bad: any.
        """
        pair_stats = self._local_stats.pair_stats(pair)
        ejected = _NONE_EJECTED
        if pair_stats.outliers:
            ejected = pair_stats.ejected(snapshot.ranks[pair])
        tiers = snapshot.tiers[pair]
        for urls in tiers:
            if ejected and not tried and (trial := self._begin_trial(pair, urls, ejected, snapshot)) is not None:
                return trial
            if (url := self._pick(pair, urls, tried, ejected, cost, snapshot, full_too=False)) is not None:
                return self._with_permit(url, pair, snapshot)
        for urls in tiers:
            if (url := self._pick(pair, urls, tried, ejected, cost, snapshot, full_too=True)) is not None:
                return self._with_permit(url, pair, snapshot)
        for urls in tiers:
            left = [
                url for url in urls if url not in tried and not self._local_stats.pair_replica_stats(url, pair).refused
            ]
            if left:
                url = self._rng.choice(left)
                return Selection(url, pair, snapshot.ranks[pair][url], None, snapshot.models[pair][url])
        return None

    def select_hedge(
        self, first: Selection, tried: Collection[str], cost: RequestCost, snapshot: Snapshot
    ) -> Selection | None:
        """Return a replica of the same model without recent failures, or None."""
        pair = first.pair
        ranks = snapshot.ranks.get(pair, {})
        unreliable = self._local_stats.pair_stats(pair).unreliable()
        for urls in snapshot.tiers.get(pair, ()):
            if ranks[urls[0]] == first.rank:
                url = self._pick(pair, urls, tried, unreliable, cost, snapshot, full_too=False)
                return None if url is None else self._with_permit(url, pair, snapshot)
        return None

    def release(self, selection: Selection) -> None:
        """Release an unused selection, perhaps a trial."""
        self._local_stats.pair_replica_stats(selection.url, selection.pair).release(selection.permit)

    def _with_permit(self, url: str, pair: LanguagePair, snapshot: Snapshot) -> Selection:
        permit = self._local_stats.pair_replica_stats(url, pair).breaker.acquire()
        return Selection(url, pair, snapshot.ranks[pair][url], permit, snapshot.models[pair][url])

    def _begin_trial(
        self, pair: LanguagePair, urls: Collection[str], ejected: Collection[str], snapshot: Snapshot
    ) -> Selection | None:
        ranks = snapshot.ranks[pair]
        rank = next((ranks[url] for url in urls), None)
        for url in ejected:
            if ranks.get(url) == rank and (permit := self._local_stats.pair_replica_stats(url, pair).breaker.acquire()):
                return Selection(url, pair, ranks[url], permit, snapshot.models[pair][url])
        return None

    def _pick(
        self,
        pair: LanguagePair,
        urls: tuple[str, ...],
        tried: Collection[str],
        ejected: frozenset[str],
        cost: RequestCost,
        snapshot: Snapshot,
        *,
        full_too: bool,
    ) -> str | None:
        # Read once, because evaluating a replica takes only a microsecond.
        local_stats, pair_stats = self._local_stats, self._local_stats.pair_stats(pair)
        models, rank = snapshot.models[pair], cost.priority.rank
        now, known, excluded = local_stats.now(), pair_stats.replicas, ejected.union(tried) if tried else ejected

        def evaluate(url: str) -> EligibleReplica | None:
            if excluded and url in excluded:
                return None
            stats = known.get(url) or local_stats.pair_replica_stats(url, pair)
            if stats.is_stalled:
                return None
            replica = stats.replica
            if not full_too:
                if replica.full_until and replica.is_full(now, cost.lane):
                    return None
                if not cost.is_long and replica.capacity.is_full(models[url], rank):
                    return None
            latency = stats.latency.at(now) or pair_stats.latencies[snapshot.ranks[pair][url]].typical_seconds
            oldest = stats.oldest
            if oldest is not None and (age := (now - oldest.started) / oldest.cost.work) > latency:
                latency = age
            seconds_joined = now - stats.joined_at
            return EligibleReplica(
                latency,
                replica.work + replica.foreign_texts,
                replica.weight,
                stats.penalty if stats.failures else 0.0,
                1.0 if seconds_joined >= SLOW_START_SECONDS else warmth(seconds_joined),
            )

        return pick(urls, evaluate, cost.work, self._rng)
