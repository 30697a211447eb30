"""PairStats: this proxy's statistics of one pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from proxy.balancing.latency import FIRST_SECONDS, ModelLatency
from proxy.balancing.replica_stats import InFlightRequest, PairReplicaStats

# A request is overdue after this many times its usual time.
OVERDUE_FACTOR: Final = 8.0


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
        return self.latencies[min(self.latencies)].typical_seconds if self.latencies else FIRST_SECONDS

    def is_overdue(self, request: InFlightRequest, now: float, since: float = 0.0) -> bool:
        """Return whether a request is overdue."""
        typical = self.latencies[request.rank].typical_seconds
        return now - max(request.started, since) >= OVERDUE_FACTOR * typical * request.work

    def others_answered(self, url: str, since: float) -> bool:
        """Return whether another replica answered after ``since``."""
        return any(at > since for other, at in self.answered_at.items() if other != url)

    def suspect(self, url: str, stats: PairReplicaStats) -> None:
        """Make a replica a suspect."""
        self.suspects[url] = stats

    def trust(self, url: str) -> None:
        """Remove a replica from the suspects."""
        self.suspects.pop(url, None)

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
