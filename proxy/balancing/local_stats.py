"""LocalStats: what this proxy has seen of the fleet itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Final

from proxy.balancing.attempt import Attempt, Selection
from proxy.balancing.pair_stats import PairStats
from proxy.balancing.replica_stats import InFlightRequest, PairReplicaStats, ReplicaStats
from proxy.fleet.replica import ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.request_cost import RequestCost
from proxy.upstream.response_classifier import AttemptOutcome
from shared.languages import LanguagePair

# So many times the usual latency, and nothing heard for a while since (outlier_detection.py), is worth a canary: the
# replica is passed over for others, may be well again, and would else have to wait until its latency has faded.
SLOW_FACTOR: Final = 2.0
# The longest Retry-After for a breaker; canaries usually bring a healed replica back within a second.
LONGEST_WAIT_SECONDS: Final = 5.0


class LocalStats:
    """This proxy's own, fast statistics, beside the slow shared registry.

    A replica must pass both. Mutable state: a :class:`ReplicaStats` per URL and a :class:`PairStats` per pair, both
    forgotten with the fleet's. Changed on the event loop only.
    """

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self._replicas: dict[str, ReplicaStats] = {}
        self._pairs: defaultdict[LanguagePair, PairStats] = defaultdict(PairStats)

    def now(self) -> float:
        """Return the time by its clock."""
        return self._clock()

    @property
    def replicas(self) -> Mapping[str, ReplicaStats]:
        """What is known of each replica, by URL."""
        return self._replicas

    @property
    def pairs(self) -> Mapping[LanguagePair, PairStats]:
        """What is known of each pair."""
        return self._pairs

    def pair_stats(self, pair: LanguagePair) -> PairStats:
        """Return what is known of a pair."""
        return self._pairs[pair]

    def replica_stats(self, url: str) -> ReplicaStats:
        """Return what is known of a replica."""
        stats = self._replicas.get(url)
        if stats is None:
            stats = self._replicas[url] = ReplicaStats()
        return stats

    def pair_replica_stats(self, url: str, pair: LanguagePair) -> PairReplicaStats:
        """Return how a replica does with a pair; a newcomer's where unknown."""
        pair_stats = self._pairs[pair]
        stats = pair_stats.replicas.get(url)
        if stats is None:
            stats = self.replica_stats(url).pair_stats(pair, self._clock, self._rng)
            pair_stats.add(url, stats)
        return stats

    def load(self, url: str, snapshot: Snapshot) -> int:
        """Return the texts in flight at a replica.

        Ours, plus those that the last report showed to be of other proxies.
        """
        stats = self._replicas.get(url)
        if stats is None:
            return 0
        return stats.texts + (stats.foreign_texts if url in snapshot.replicas else 0)

    def retry_in(self, pair: LanguagePair, urls: Collection[str]) -> float:
        """Return the seconds until the first of these replicas may be tried.

        With the pair, and within bounds.
        """
        waits = [self.pair_replica_stats(url, pair).breaker.retry_in() for url in urls]
        return min(LONGEST_WAIT_SECONDS, max(1.0, min(waits, default=1.0)))

    def begin_attempt(self, selection: Selection, cost: RequestCost, on_lost: Callable[[], None]) -> Attempt:
        """Return the attempt at a replica, as a context manager.

        Its result is recorded here. ``on_lost`` is called at each snapshot in which the replica is DOWN, and while it
        stands still. One that left the fleet is not lost: it may be leaving politely and still answer what it has in
        flight.
        """
        stats = self.pair_replica_stats(selection.url, selection.pair)
        return Attempt(self.record, selection, stats, self._clock(), cost, on_lost)

    def record(self, attempt: Attempt) -> None:
        """Learn from the end of an attempt."""
        stats = attempt.stats
        url, pair, _, permit, _ = attempt.selection
        if not self._is_current(url, pair, stats):
            return  # another process serves there by now: this one's end says nothing of it
        pair_stats, outcome = self._pairs[pair], attempt.outcome
        if attempt.timed_out:  # it fails only an overdue request
            is_overdue = pair_stats.is_overdue(attempt, self._clock())
            outcome = AttemptOutcome.FAILED if is_overdue else AttemptOutcome.NONE
        if outcome is AttemptOutcome.GOOD or outcome is AttemptOutcome.ANSWERED:
            stats.record_success(permit)
            pair_stats.answered(url, stats.progressed_at)
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
                stats.replica.mark_full(attempt.cost.lane, self._clock(), attempt.full_for)
            else:
                stats.record_minimum_latency(attempt)
            stats.release(permit)
        pair_stats.update_outlier(url, stats)

    def _is_current(self, url: str, pair: LanguagePair, stats: PairReplicaStats) -> bool:
        """Say whether these are still the replica's statistics.

        They may have been forgotten while a request was in flight.
        """
        replica_stats = self._replicas.get(url)
        return replica_stats is not None and replica_stats.pairs.get(pair) is stats

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
        """Learn that a canary came back right.

        Its latency is what counts now, and a back-off is over.
        """
        stats, pair_stats = self.pair_replica_stats(url, pair), self._pairs[pair]
        stats.canary_passed(seconds_per_unit)
        if not stats.is_out and seconds_per_unit <= SLOW_FACTOR * pair_stats.latencies[rank].typical_seconds:
            pair_stats.trust(url)

    def canary_failed(self, url: str, pair: LanguagePair) -> None:
        """Learn that a canary did not come back right.

        As bad as a request that failed, but that it lengthens no back-off.
        """
        stats, pair_stats = self.pair_replica_stats(url, pair), self._pairs[pair]
        stats.canary_failed()
        pair_stats.update_outlier(url, stats)

    def apply_snapshot(self, snapshot: Snapshot) -> None:
        """Take in a Snapshot: start newcomers, forget and notify.

        Replicas and pairs that are gone are forgotten; requests at lost replicas are notified.
        """
        now = self._clock()
        for url, replica in snapshot.replicas.items():
            replica_stats = self.replica_stats(url)
            replica_stats.update(replica, now)
            for pair in replica_stats.forget_outdated(replica):
                if pair in self._pairs:
                    self._pairs[pair].forget(url)
            if replica.state is ReplicaState.DOWN:
                for stats in replica_stats.pairs.values():
                    stats.notify_lost()
        for url in [url for url in self._replicas if url not in snapshot.replicas]:
            if not self._replicas[url].requests:
                del self._replicas[url]
                for pair_stats in self._pairs.values():
                    pair_stats.forget(url)
        for pair in [pair for pair in self._pairs if pair not in snapshot.ready]:
            del self._pairs[pair]
