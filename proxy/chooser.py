"""Chooser: which replica gets a request, by what the registry and this proxy's own evidence say. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy import balancer
from proxy.attempt import Choice
from proxy.balancer import Candidate, warmth

if TYPE_CHECKING:
    from collections.abc import Collection
    from random import Random

    from proxy.evidence import LocalEvidence, Pool
    from proxy.fleet import Snapshot
    from shared.languages import LanguagePair


class Chooser:
    """Holds no state of its own; a choice takes the breaker's permit along."""

    def __init__(self, evidence: LocalEvidence, rng: Random) -> None:
        """Take what is known, and the dice."""
        self._evidence = evidence
        self._rng = rng

    def choose(self, pair: LanguagePair, tried: Collection[str], work: float, snapshot: Snapshot) -> Choice | None:
        """Return the replica to send a request to, None where every one was tried or refuses the pair.

        A breaker's trial when it is due. Of the preferred model's replicas one that nothing speaks against, else of the
        next one's; else one that is full; else, when most of the pair's replicas look bad, our own eyes are what to
        doubt, and one of those.
        """
        pool = self._evidence.pool(pair)
        tiers = snapshot.tiers[pair]
        out = self._out(pair, pool, snapshot) if pool.out else frozenset[str]()
        if (trial := self._due_trial(pair, out, tried)) is not None:
            return trial
        for full_too in (False, True):
            for urls in tiers:
                url = balancer.pick(
                    urls,
                    lambda url, f=full_too: self._look(url, pair, tried, out, snapshot, full_too=f),
                    work,
                    self._rng,
                )
                if url is not None:
                    return self._permitted(url, pair)
        left = [
            url
            for urls in tiers
            for url in urls
            if url not in tried and not self._evidence.pair_standing(url, pair).refused
        ]
        return Choice(self._rng.choice(left), None) if left else None

    def choose_well(self, pair: LanguagePair, tried: Collection[str], work: float, snapshot: Snapshot) -> Choice | None:
        """Return a replica against which nothing speaks at all, for what need not be sent; None where there is none."""
        pool = self._evidence.pool(pair)
        wary = frozenset(pool.out) | frozenset(pool.doubtful)
        for urls in snapshot.tiers[pair]:
            url = balancer.pick(
                urls, lambda url: self._look(url, pair, tried, wary, snapshot, full_too=False), work, self._rng
            )
            if url is not None:
                return self._permitted(url, pair)
        return None

    def _permitted(self, url: str, pair: LanguagePair) -> Choice:
        return Choice(url, self._evidence.pair_standing(url, pair).breaker.acquire())

    def _out(self, pair: LanguagePair, pool: Pool, snapshot: Snapshot) -> frozenset[str]:
        """Return the replicas that their breaker keeps out: at most half, besides those that refused the pair."""
        ready = snapshot.ready[pair]
        known = [url for url in pool.out if url in ready]
        refused = [url for url in known if self._evidence.pair_standing(url, pair).refused]
        ejected = [url for url in known if url not in refused]
        return frozenset(refused) | frozenset(ejected[: (len(ready) - len(refused)) // 2])

    def _due_trial(self, pair: LanguagePair, out: Collection[str], tried: Collection[str]) -> Choice | None:
        for url in out:
            if url not in tried and (permit := self._evidence.pair_standing(url, pair).breaker.acquire()) is not None:
                return Choice(url, permit)
        return None

    def _look(
        self,
        url: str,
        pair: LanguagePair,
        tried: Collection[str],
        out: Collection[str],
        snapshot: Snapshot,
        *,
        full_too: bool,
    ) -> Candidate | None:
        """Return how a replica would be weighed, None where something speaks against it."""
        if url in tried or url in out:
            return None
        standing = self._evidence.standing(url)
        now = self._evidence.now()
        pool = self._evidence.pool(pair)
        if self._evidence.stalls(url, standing):
            return None
        replica = snapshot.replicas[url]
        foreign = self._evidence.foreign(url, standing, replica)
        report = replica.report
        limit = report.limit if report is not None else 0
        if not full_too and (standing.is_full(now) or 0 < limit <= standing.texts + foreign):
            return None
        own = self._evidence.pair_standing(url, pair)
        latency = own.latency.value or pool.usual
        if (oldest := standing.oldest()) is not None:
            latency = max(latency, (now - oldest.started) / oldest.work)
        return Candidate(
            latency=latency,
            in_flight=standing.work + foreign,
            weight=replica.weight,
            penalty=own.penalty,
            warmth=warmth(now - standing.joined_at),
        )
