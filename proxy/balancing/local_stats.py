"""LocalStats: this proxy's own statistics of the fleet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from random import Random
from typing import Final

from proxy.balancing.attempt import Attempt, Selection
from proxy.balancing.pair_stats import PairStats
from proxy.balancing.replica_stats import InFlightRequest, PairReplicaStats, ReplicaStats
from proxy.call import RequestCost
from proxy.fleet.replica import ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.upstream.response_classifier import AttemptOutcome
from shared.languages import LanguagePair

# A replica this many times slower than usual is a suspect.
SLOW_FACTOR: Final = 2.0
# Longest Retry-After for a breaker; canaries usually need a second.
LONGEST_WAIT_SECONDS: Final = 5.0


class LocalStats:
    """Statistics of replicas and pairs; changed on the event loop only."""

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        self.now = clock
        self._rng = rng
        self.replicas: dict[str, ReplicaStats] = {}
        self.pairs: defaultdict[LanguagePair, PairStats] = defaultdict(PairStats)

    def pair_stats(self, pair: LanguagePair) -> PairStats:
        """Return a pair's statistics."""
        return self.pairs[pair]

    def replica_stats(self, url: str) -> ReplicaStats:
        """Return a replica's statistics, or new ones."""
        stats = self.replicas.get(url)
        if stats is None:
            stats = self.replicas[url] = ReplicaStats()
        return stats

    def pair_replica_stats(self, url: str, pair: LanguagePair) -> PairReplicaStats:
        """Return a replica's statistics for a pair, or new ones."""
        pair_stats = self.pairs[pair]
        stats = pair_stats.replicas.get(url)
        if stats is None:
            replica_stats = self.replica_stats(url)
            new = PairReplicaStats(replica_stats, self.now, self._rng)
            stats = pair_stats.replicas[url] = replica_stats.pairs.setdefault(pair, new)
        return stats

    def load(self, url: str, snapshot: Snapshot) -> int:
        """Return the texts in flight at a replica, other proxies' included."""
        stats = self.replicas.get(url)
        if stats is None:
            return 0
        return stats.texts + (stats.foreign_texts if url in snapshot.replicas else 0)

    def retry_in(self, pair: LanguagePair, urls: Collection[str]) -> float:
        """Return the seconds, 1 to 5, until a breaker permits a replica."""
        waits = [self.pair_replica_stats(url, pair).breaker.retry_in() for url in urls]
        return min(LONGEST_WAIT_SECONDS, max(1.0, min(waits, default=1.0)))

    def begin_attempt(self, selection: Selection, cost: RequestCost) -> Attempt:
        """Return an attempt, a context manager.

        A replica that left the fleet may still answer.
        """
        stats = self.pair_replica_stats(selection.url, selection.pair)
        return Attempt(self.record, selection, stats, self.now(), cost)

    def record(self, attempt: Attempt) -> None:
        """Record an attempt's result."""
        stats = attempt.stats
        url, pair, _, permit, _ = attempt.selection
        replica_stats = self.replicas.get(url)
        if replica_stats is None or replica_stats.pairs.get(pair) is not stats:
            return  # another process serves at this URL now
        pair_stats, outcome = self.pairs[pair], attempt.outcome
        if attempt.timed_out:
            is_overdue = pair_stats.is_overdue(attempt, self.now())
            outcome = AttemptOutcome.FAILED if is_overdue else AttemptOutcome.NONE
        if outcome is AttemptOutcome.GOOD or outcome is AttemptOutcome.ANSWERED:
            stats.record_success(permit)
            pair_stats.answered_at[url] = stats.progressed_at
            if outcome is AttemptOutcome.GOOD:
                self._record_latency(url, stats, attempt, pair_stats)
        elif outcome is AttemptOutcome.FAILED:
            stats.record_failure(permit, attempt.label, at_once=attempt.unreachable)
            pair_stats.suspect(url, stats)
        elif outcome is AttemptOutcome.REFUSED:
            stats.record_refusal(permit, attempt.label)
            pair_stats.suspect(url, stats)
        else:
            if outcome is AttemptOutcome.FULL:
                stats.replica.mark_full(attempt.cost.lane, self.now(), attempt.full_for)
            else:
                stats.record_minimum_latency(attempt)
            stats.release(permit)
        pair_stats.update_outlier(url, stats)

    @staticmethod
    def _record_latency(url: str, stats: PairReplicaStats, request: InFlightRequest, pair_stats: PairStats) -> None:
        model_latency = pair_stats.latencies[request.rank]
        seconds = stats.record_latency(request)
        model_latency.observe((stats.progressed_at - request.started) / request.work)
        if seconds > SLOW_FACTOR * model_latency.typical_seconds:
            pair_stats.suspect(url, stats)
        elif not stats.is_out:
            pair_stats.trust(url)

    def canary_passed(self, url: str, pair: LanguagePair, rank: int, seconds_per_unit: float) -> None:
        """Record a good canary."""
        stats, pair_stats = self.pair_replica_stats(url, pair), self.pairs[pair]
        stats.canary_passed(seconds_per_unit)
        if not stats.is_out and seconds_per_unit <= SLOW_FACTOR * pair_stats.latencies[rank].typical_seconds:
            pair_stats.trust(url)

    def canary_failed(self, url: str, pair: LanguagePair) -> None:
        """Record a failed canary."""
        stats, pair_stats = self.pair_replica_stats(url, pair), self.pairs[pair]
        stats.canary_failed()
        pair_stats.update_outlier(url, stats)

    def apply_snapshot(self, snapshot: Snapshot) -> None:
        """Add and drop replicas; notify requests at lost ones."""
        now = self.now()
        for url, replica in snapshot.replicas.items():
            replica_stats = self.replica_stats(url)
            replica_stats.update(replica, now)
            for pair in replica_stats.forget_outdated(replica):
                if pair in self.pairs:
                    self.pairs[pair].forget(url)
            if replica.state is ReplicaState.DOWN:
                for stats in replica_stats.pairs.values():
                    stats.notify_lost()
        for url in [url for url in self.replicas if url not in snapshot.replicas]:
            if not self.replicas[url].requests:
                del self.replicas[url]
                for pair_stats in self.pairs.values():
                    pair_stats.forget(url)
        for pair in [pair for pair in self.pairs if pair not in snapshot.ready]:
            del self.pairs[pair]
