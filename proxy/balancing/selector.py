"""ReplicaSelector: chooses the replica for one attempt."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Final

from proxy.balancing import balancer
from proxy.balancing.attempt import Selection
from proxy.balancing.balancer import SLOW_START_SECONDS, EligibleReplica, warmth
from proxy.balancing.local_stats import LocalStats
from proxy.call import RequestCost
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair

_NONE_EJECTED: Final = frozenset[str]()


class ReplicaSelector:
    """Selector by snapshot and local statistics."""

    def __init__(self, local_stats: LocalStats, rng: Random) -> None:
        self._local_stats = local_stats
        self._rng = rng

    def select(
        self, pair: LanguagePair, tried: Collection[str], cost: RequestCost, snapshot: Snapshot
    ) -> Selection | None:
        """Return a replica; None if all were tried or refuse the pair.

        By model, the preferred one first: a replica due for a trial (never for a request that failed before), else a
        healthy one with capacity. If no model has one: a full replica. If every replica looks bad: any.
        """
        pair_stats = self._local_stats.pair_stats(pair)
        ejected = _NONE_EJECTED
        if pair_stats.outliers:
            ejected = pair_stats.ejected(snapshot.ranks[pair])
        tiers = snapshot.tiers[pair]
        for urls in tiers:
            if ejected and not tried and (trial := self._due_trial(pair, urls, ejected, snapshot)) is not None:
                return trial
            if (url := self._pick(pair, urls, tried, ejected, cost, snapshot, full_too=False)) is not None:
                return self._permitted(url, pair, snapshot)
        for urls in tiers:
            if (url := self._pick(pair, urls, tried, ejected, cost, snapshot, full_too=True)) is not None:
                return self._permitted(url, pair, snapshot)
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
                return None if url is None else self._permitted(url, pair, snapshot)
        return None

    def release(self, selection: Selection) -> None:
        """Release an unused selection, perhaps a trial."""
        self._local_stats.pair_replica_stats(selection.url, selection.pair).release(selection.permit)

    def _permitted(self, url: str, pair: LanguagePair, snapshot: Snapshot) -> Selection:
        permit = self._local_stats.pair_replica_stats(url, pair).breaker.acquire()
        return Selection(url, pair, snapshot.ranks[pair][url], permit, snapshot.models[pair][url])

    def _due_trial(
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

        return balancer.pick(urls, evaluate, cost.work, self._rng)
