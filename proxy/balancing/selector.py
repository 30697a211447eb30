"""Chooser: which replica gets a request, by what the registry and this proxy's own evidence say. Pure."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Final

from proxy.balancing import balancer
from proxy.balancing.attempt import Selection
from proxy.balancing.balancer import SLOW_START_SECONDS, Candidate, warmth
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.snapshot import Snapshot
from proxy.request_cost import RequestCost
from shared.languages import LanguagePair

# Who is kept out is worked out again after this, or when a breaker changes: with hundreds out of a thousand it takes a
# millisecond, and a trial that waits for it is no worse.
KEPT_SECONDS: Final = 0.05
_NOBODY: Final = frozenset[str]()


class ReplicaSelector:
    """Holds no state of its own; a choice takes the breaker's permit along."""

    def __init__(self, evidence: LocalStats, rng: Random) -> None:
        """Take what is known, and the dice."""
        self._evidence = evidence
        self._rng = rng

    def choose(
        self, pair: LanguagePair, tried: Collection[str], freight: RequestCost, snapshot: Snapshot
    ) -> Selection | None:
        """Return the replica to send a request to, None where every one was tried or refuses the pair.

        Model by model, the preferred one's replicas first: a breaker's trial that is due (never for a request that has
        failed already), else one that nothing speaks against. Then, in the same order, one that is full. Then, as most
        of the pair's replicas look bad, our own eyes are what to doubt, and any of those.
        """
        out = self._kept_out(pair, snapshot) if self._evidence.pool(pair).out else _NOBODY
        tiers = snapshot.tiers[pair]
        for urls in tiers:
            if out and not tried and (trial := self._due_trial(pair, urls, out, snapshot)) is not None:
                return trial
            if (url := self._pick(pair, urls, tried, out, freight, snapshot, full_too=False)) is not None:
                return self._permitted(url, pair, snapshot)
        for urls in tiers:
            if (url := self._pick(pair, urls, tried, out, freight, snapshot, full_too=True)) is not None:
                return self._permitted(url, pair, snapshot)
        for urls in tiers:
            left = [url for url in urls if url not in tried and not self._evidence.pair_standing(url, pair).refused]
            if left:
                url = self._rng.choice(left)
                return Selection(url, pair, snapshot.ranks[pair][url], None, snapshot.models[pair][url])
        return None

    def choose_beside(
        self, first: Selection, tried: Collection[str], freight: RequestCost, snapshot: Snapshot
    ) -> Selection | None:
        """Return a replica for a hedge: of the same model, and it failed at nothing lately; None without one."""
        pair = first.pair
        ranks = snapshot.ranks.get(pair, {})
        pool = self._evidence.pool(pair)
        failing = (url for url in pool.doubtful if self._evidence.pair_standing(url, pair).failures)
        wary = frozenset(pool.out).union(failing)
        for urls in snapshot.tiers.get(pair, ()):
            if ranks[urls[0]] == first.rank:
                url = self._pick(pair, urls, tried, wary, freight, snapshot, full_too=False)
                return None if url is None else self._permitted(url, pair, snapshot)
        return None

    def give_back(self, choice: Selection) -> None:
        """Note that nothing will be sent there after all: a trial is another request's."""
        if choice.permit is not None:
            self._evidence.pair_standing(choice.url, choice.pair).breaker.release(choice.permit)

    def _permitted(self, url: str, pair: LanguagePair, snapshot: Snapshot) -> Selection:
        permit = self._evidence.pair_standing(url, pair).breaker.acquire()
        return Selection(url, pair, snapshot.ranks[pair][url], permit, snapshot.models[pair][url])

    def _kept_out(self, pair: LanguagePair, snapshot: Snapshot) -> frozenset[str]:
        """Return the replicas that their breaker keeps out: at most half, besides those that refused the pair."""
        pool = self._evidence.pool(pair)
        now = self._evidence.now()
        if now >= pool.kept_until:
            ready = snapshot.ranks[pair]
            known = [url for url in pool.out if url in ready]
            refused = {url for url in known if self._evidence.pair_standing(url, pair).refused}
            ejected = [url for url in known if url not in refused]
            pool.kept_out = frozenset(refused) | frozenset(ejected[: (len(ready) - len(refused)) // 2])
            pool.kept_until = now + KEPT_SECONDS
            waits = (self._evidence.pair_standing(url, pair).breaker.retry_in() for url in pool.kept_out)
            pool.trial_at = now + min(waits, default=0.0)
        return pool.kept_out

    def _due_trial(
        self, pair: LanguagePair, urls: Collection[str], out: Collection[str], snapshot: Snapshot
    ) -> Selection | None:
        if self._evidence.now() < self._evidence.pool(pair).trial_at:
            return None
        ranks = snapshot.ranks[pair]
        rank = next((ranks[url] for url in urls), None)
        for url in out:
            if ranks.get(url) == rank and (permit := self._evidence.pair_standing(url, pair).breaker.acquire()):
                return Selection(url, pair, ranks[url], permit, snapshot.models[pair][url])
        return None

    def _pick(
        self,
        pair: LanguagePair,
        urls: tuple[str, ...],
        tried: Collection[str],
        out: frozenset[str],
        freight: RequestCost,
        snapshot: Snapshot,
        *,
        full_too: bool,
    ) -> str | None:
        """Return the best of a few of these replicas, None where something speaks against all that were looked at."""
        # What is the same for every look is looked up here: a request makes three, and has a microsecond for each.
        evidence, pool = self._evidence, self._evidence.pool(pair)
        now, known, barred = evidence.now(), pool.own, out.union(tried) if tried else out

        def look(url: str) -> Candidate | None:
            """Return how a replica would be weighed, None where something speaks against it."""
            if barred and url in barred:
                return None
            own = known.get(url) or evidence.pair_standing(url, pair)
            if own.stalls:
                return None
            replica = own.replica
            if not full_too and (replica.full or replica.rooms.full):
                if replica.is_full(now, freight.lane):
                    return None
                model = snapshot.models[pair][url]
                if not freight.is_long and (model, freight.priority.rank) in replica.rooms.full:
                    return None
            latency = own.latency.at(now) or pool.paces[snapshot.ranks[pair][url]].usual
            oldest = own.oldest
            if oldest is not None and (waits := (now - oldest.started) / oldest.freight.work) > latency:
                latency = waits
            age = now - own.joined_at
            return Candidate(
                latency,
                replica.work + replica.foreign,
                replica.weight,
                own.penalty if own.failures else 0.0,
                1.0 if age >= SLOW_START_SECONDS else warmth(age),
            )

        return balancer.pick(urls, look, freight.work, self._rng)
