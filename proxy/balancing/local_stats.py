"""LocalStats: this proxy's own statistics: attempts, pairs, models' latencies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Final, NamedTuple, Self

from proxy.balancing.circuit_breaker import CircuitPermit
from proxy.balancing.replica_stats import InFlightRequest, PairReplicaStats, ReplicaStats
from proxy.call import RequestCost
from proxy.fleet.replica import ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.upstream.response_classifier import AttemptOutcome
from shared.languages import LanguagePair

# Before the first sample; equal everywhere, so that only load counts.
FIRST_LATENCY_SECONDS: Final = 0.1
# Requests above it are late: Dean and Barroso, The Tail at Scale (CACM 2013).
PERCENTILE: Final = 0.95
# If latencies hardly differ, 5 % are late by very little.
OVER_MEDIAN: Final = 2.0
# A sort takes 30 microseconds.
SAMPLES: Final = 500
RECENT: Final = 50
SORT_EVERY: Final = 25
# With fewer samples; half of the second that a hung replica may cost.
MIN_SAMPLES: Final = 20
FIRST_LATE_SECONDS: Final = 0.5
# Recent median over overall median; one bad replica hardly moves it.
FLEET_SLOW: Final = 2.0
# A request is overdue after this many times its usual time.
OVERDUE_FACTOR: Final = 8.0
# A replica this many times slower than usual is a suspect.
SLOW_FACTOR: Final = 2.0
# Longest Retry-After for a breaker; canaries usually need a second.
LONGEST_BREAKER_WAIT_SECONDS: Final = 5.0


@dataclass(eq=False, slots=True)
class ModelLatency:
    """A model's latency for a pair, per unit of work.

    A request is late after ``late_seconds``; ``is_slow``: all are late now. ``hedge_debt``: hedges not earned yet.
    """

    _latencies: list[float] = field(default_factory=list[float])
    _next_index: int = 0
    _unsorted: int = 0
    _median_seconds: float | None = None  # None below MIN_SAMPLES
    late_seconds: float = FIRST_LATE_SECONDS
    is_slow: bool = False
    hedge_debt: float = 0.0

    @property
    def typical_seconds(self) -> float:
        """Median seconds for a unit of work."""
        return self._median_seconds or (median(self._latencies) if self._latencies else FIRST_LATENCY_SECONDS)

    def observe(self, seconds_per_unit: float) -> None:
        """Add the latency of an answered request."""
        if len(self._latencies) < SAMPLES:
            self._latencies.append(seconds_per_unit)
        else:
            self._latencies[self._next_index] = seconds_per_unit
        self._next_index = (self._next_index + 1) % SAMPLES
        self._unsorted += 1
        if self._unsorted >= SORT_EVERY or len(self._latencies) == MIN_SAMPLES:
            self._sort()

    def _sort(self) -> None:
        self._unsorted = 0
        count = len(self._latencies)
        if count < MIN_SAMPLES:
            return
        recent = sorted(self._latencies[self._next_index - 1 - place] for place in range(min(RECENT, count)))
        latencies = sorted(self._latencies)
        self._median_seconds = usual = latencies[count // 2]
        self.is_slow = recent[len(recent) // 2] > FLEET_SLOW * usual
        self.late_seconds = max(latencies[int(count * PERCENTILE)], OVER_MEDIAN * usual)


class Selection(NamedTuple):
    """A chosen replica; ``permit`` is None if most replicas look bad."""

    url: str
    pair: LanguagePair
    rank: int
    permit: CircuitPermit | None
    model: str


class Attempt(InFlightRequest):
    """One request to one replica, in flight while the block lasts.

    ``label`` is for metrics; ``full_for``: seconds that a full replica asked for. If it ``timed_out``, it failed only
    if overdue.
    """

    __slots__ = ("_record", "full_for", "label", "outcome", "selection", "stats", "timed_out", "unreachable")

    def __init__(
        self,
        record: Callable[[Attempt], None],
        selection: Selection,
        stats: PairReplicaStats,
        started: float,
        cost: RequestCost,
    ) -> None:
        super().__init__(selection.rank, selection.model, started, cost)
        self._record = record
        self.selection = selection
        self.stats = stats
        self.outcome = AttemptOutcome.NONE
        self.label = "cancelled"
        self.full_for = 0.0
        self.unreachable = False
        self.timed_out = False

    def __enter__(self) -> Self:
        self.stats.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.stats.remove(self)
        self._record(self)

    def record_outcome(self, outcome: AttemptOutcome, *, full_for: float = 0.0, unreachable: bool = False) -> None:
        """Record the outcome."""
        self.outcome, self.full_for, self.unreachable = outcome, full_for, unreachable


@dataclass(eq=False, slots=True)
class PairStats:
    """Statistics of one pair; latencies by model rank.

    ``outliers`` have a breaker that is not closed, the first to open first.
    """

    latencies: defaultdict[int, ModelLatency] = field(default_factory=lambda: defaultdict(ModelLatency))
    replicas: dict[str, PairReplicaStats] = field(default_factory=dict[str, PairReplicaStats])
    outliers: dict[str, PairReplicaStats] = field(default_factory=dict[str, PairReplicaStats])
    suspects: dict[str, PairReplicaStats] = field(default_factory=dict[str, PairReplicaStats])
    answered_at: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def typical_seconds(self) -> float:
        """Median seconds per unit, of the preferred model."""
        return self.latencies[min(self.latencies)].typical_seconds if self.latencies else FIRST_LATENCY_SECONDS

    def is_overdue(self, request: InFlightRequest, now: float, since: float = 0.0) -> bool:
        """Return whether a request is overdue."""
        typical = self.latencies[request.rank].typical_seconds
        return now - max(request.started, since) >= OVERDUE_FACTOR * typical * request.work

    def unreliable(self) -> frozenset[str]:
        """Return the replicas with a recent failure."""
        return frozenset(self.outliers).union(url for url, stats in self.suspects.items() if stats.failures)

    def update_outlier(self, url: str, stats: PairReplicaStats) -> None:
        """Update whether a replica is an outlier."""
        is_out = stats.is_out
        if is_out and url not in self.outliers:
            self.outliers[url] = stats
        elif not is_out:
            self.outliers.pop(url, None)

    def ejected(self, ready: Mapping[str, int]) -> frozenset[str]:
        """Return excluded replicas: all that refused, at most half of the others."""
        outliers = {url: stats for url, stats in self.outliers.items() if url in ready}
        refused = {url for url, stats in outliers.items() if stats.refused}
        failing = [url for url in outliers if url not in refused]
        return frozenset(refused).union(failing[: (len(ready) - len(refused)) // 2])

    def forget(self, url: str) -> None:
        """Drop a replica's statistics."""
        for table in (self.replicas, self.answered_at, self.outliers, self.suspects):
            table.pop(url, None)


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
        return min(LONGEST_BREAKER_WAIT_SECONDS, max(1.0, min(waits, default=1.0)))

    def begin_attempt(self, selection: Selection, cost: RequestCost) -> Attempt:
        """Return an attempt, also at a replica that left the fleet."""
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
            pair_stats.suspects[url] = stats
        elif outcome is AttemptOutcome.REFUSED:
            stats.refused = True  # until something succeeds
            stats.record_failure(permit, attempt.label, at_once=True)
            pair_stats.suspects[url] = stats
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
            pair_stats.suspects[url] = stats
        elif not stats.is_out:
            pair_stats.suspects.pop(url, None)

    def canary_passed(self, url: str, pair: LanguagePair, rank: int, seconds_per_unit: float) -> None:
        """Record a good canary."""
        stats, pair_stats = self.pair_replica_stats(url, pair), self.pairs[pair]
        stats.canary_passed(seconds_per_unit)
        if not stats.is_out and seconds_per_unit <= SLOW_FACTOR * pair_stats.latencies[rank].typical_seconds:
            pair_stats.suspects.pop(url, None)

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
