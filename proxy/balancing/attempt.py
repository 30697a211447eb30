"""One attempt: the chosen replica, and how its request ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

from proxy.balancing.circuit_breaker import CircuitPermit
from proxy.balancing.replica_stats import InFlightRequest, PairReplicaStats
from proxy.call import RequestCost
from proxy.upstream.response_classifier import AttemptOutcome
from shared.languages import LanguagePair


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
