"""Capacity: how much a replica's model still takes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from proxy.request_cost import RequestCost
from shared.protocol.priority import Priority
from shared.protocol.report import ModelReport


class Capacity(NamedTuple):
    """How full a replica's model is for a class, in cost units.

    ``ahead`` of a new request are the units of the others together, ``callers`` those ahead of a caller with nothing in
    flight; ``limit`` is where it is full, ``rate`` the units done a second.
    """

    ahead: float
    callers: float
    limit: float
    rate: float | None


class CapacityTracker:
    """Capacity of one replica's models for each class of short requests.

    Mutable state: what the last report said, and by how much this proxy's load there has changed since. Lists go by the
    classes' ranks; each change counts for its class and those less urgent.
    """

    __slots__ = ("_reported", "added_units")

    def __init__(self) -> None:
        self._reported: dict[str, tuple[Capacity | None, ...]] = {}
        self.added_units: dict[str, list[float]] = {}

    def update(self, models: Mapping[str, ModelReport], *, is_new: bool) -> None:
        """Take in a report; a new one counts what is in flight."""
        if is_new:
            self.added_units = {}
        self._reported = {name: tuple(_capacity(report, each) for each in Priority) for name, report in models.items()}

    def add(self, model: str, cost: RequestCost, units: float) -> None:
        """Count a request's units, or less than nothing when it ends; long texts take a share of the batch only."""
        if cost.is_long:
            return
        added = self.added_units.get(model)
        if added is None:
            added = self.added_units[model] = [0.0] * len(Priority)
        for rank in range(cost.priority.rank, len(added)):
            added[rank] += units

    def of(self, model: str, rank: int) -> Capacity | None:
        """Return a model's capacity for a class now; None where the last report does not say."""
        by_rank = self._reported.get(model)
        capacity = None if by_rank is None else by_rank[rank]
        added = self.added_units.get(model)
        if capacity is None or added is None:
            return capacity
        ahead, callers, limit, rate = capacity
        return Capacity(max(0.0, ahead + added[rank]), callers, limit, rate)

    def is_full(self, model: str, rank: int) -> bool:
        """Say whether a model is at its limit for a class."""
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
