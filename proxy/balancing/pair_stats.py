"""Pool: what this proxy knows of one pair, whoever serves it. Pure."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import Final

from proxy.balancing.hedge_policy import HedgePolicy
from proxy.balancing.replica_stats import PairReplicaStats

# What a unit of work is taken to last before any was seen; only the same for all, so that nothing but load counts.
FIRST_SECONDS: Final = 0.1


class ModelLatency:
    """How long the replicas of one model take for a pair. Mutable state: the last latencies, and the hedges they allow."""

    __slots__ = ("_first", "hedging")

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.hedging = HedgePolicy()
        self._first: list[float] = []

    @property
    def usual(self) -> float:
        """Seconds that a unit of work usually takes: the median, of the few there are until there are enough."""
        return self.hedging.usual or (median(self._first) if self._first else FIRST_SECONDS)

    def observe(self, seconds_per_unit: float) -> None:
        """Take the latency of a translation."""
        self.hedging.observe(seconds_per_unit)
        if self.hedging.usual is None:
            self._first.append(seconds_per_unit)


class PairStats:
    """Mutable state: the pace of each rank of models, each replica's standing, who answered last when, who is out or in doubt."""

    __slots__ = ("doubtful", "good_at", "kept_out", "kept_until", "out", "own", "paces", "trial_at")

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.paces: defaultdict[int, ModelLatency] = defaultdict(ModelLatency)
        self.own: dict[str, PairReplicaStats] = {}
        self.good_at: dict[str, float] = {}
        self.out: dict[str, None] = {}  # breakers that are not closed, the first to open first
        self.doubtful: dict[str, None] = {}  # worth a canary
        self.kept_out: frozenset[str] = frozenset()  # those of ``out`` that get nothing, as last worked out
        self.kept_until = 0.0
        self.trial_at = 0.0  # when the first of those may be tried

    @property
    def usual(self) -> float:
        """Seconds that a unit of work usually takes with the most preferred model that was used."""
        return self.paces[min(self.paces)].usual if self.paces else FIRST_SECONDS

    def note(self, url: str, *, is_out: bool) -> None:
        """Note whether a replica's breaker is closed."""
        if is_out == (url in self.out):
            return
        self.kept_until = 0.0
        if is_out:
            self.out[url] = None
        else:
            del self.out[url]

    def forget(self, url: str) -> None:
        """Drop everything about a replica."""
        self.kept_until = 0.0
        for table in (self.own, self.good_at, self.out, self.doubtful):
            table.pop(url, None)
