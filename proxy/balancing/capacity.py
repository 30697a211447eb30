"""Capacity: the work that a model can still accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from proxy.call import RequestCost
from shared.protocol.priority import Priority
from shared.protocol.report import ModelReport


class Capacity(NamedTuple):
    """Load and limit of a model, in cost units.

    ``ahead``: units ahead of a request; ``callers``: units ahead if its caller has nothing in flight; ``rate``: units
    per second.
    """

    ahead: float
    callers: float
    limit: float
    rate: float | None


class CapacityTracker:
    """Capacity of one replica's models for short requests.

    Lists are indexed by priority rank. A request counts for its own priority and all less urgent ones.
    """

    __slots__ = ("_reported", "added_units")

    def __init__(self) -> None:
        self._reported: dict[str, tuple[Capacity | None, ...]] = {}
        self.added_units: dict[str, list[float]] = {}

    def update(self, models: Mapping[str, ModelReport], *, is_new: bool) -> None:
        """Apply a report; a new one includes the added units."""
        if is_new:
            self.added_units = {}
        self._reported = {name: tuple(_capacity(report, each) for each in Priority) for name, report in models.items()}

    def add(self, model: str, cost: RequestCost, units: float) -> None:
        """Add a request's units; negative units remove them."""
        if cost.is_long:  # long requests have their own share of the batch
            return
        added = self.added_units.get(model)
        if added is None:
            added = self.added_units[model] = [0.0] * len(Priority)
        for rank in range(cost.priority.rank, len(added)):
            added[rank] += units

    def of(self, model: str, rank: int) -> Capacity | None:
        """Return a model's capacity, or None if not reported."""
        by_rank = self._reported.get(model)
        capacity = None if by_rank is None else by_rank[rank]
        added = self.added_units.get(model)
        if capacity is None or added is None:
            return capacity
        ahead, callers, limit, rate = capacity
        return Capacity(max(0.0, ahead + added[rank]), callers, limit, rate)

    def is_full(self, model: str, rank: int) -> bool:
        """Return whether a model is at its limit."""
        by_rank = self._reported.get(model)
        capacity = None if by_rank is None else by_rank[rank]
        if capacity is None:
            return False
        added = self.added_units.get(model)
        return not capacity.limit or capacity.ahead + (added[rank] if added else 0.0) >= capacity.limit


def _capacity(report: ModelReport, priority: Priority) -> Capacity | None:
    reported = report.capacity.get(priority)
    if reported is None:
        return None
    return Capacity(reported.ahead, reported.callers, reported.limit, report.rate)
