"""Capacity: how much a replica's model still takes on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

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

    Mutable state: what the last report said, and by how much this proxy's load there has changed since
    (``added_units``); long texts are left out, a share of the batch is all that they take from others. Lists go by the
    classes' ranks; each change counts for its class and those less urgent. ``full`` are the models and ranks that are
    at their limit now: every pick asks for it, three times.
    """

    __slots__ = ("_reported", "added_units", "full")

    def __init__(self) -> None:
        """Begin with nothing reported: nothing is full."""
        self._reported: dict[str, tuple[list[float], list[float]]] = {}
        self.added_units: dict[str, list[float]] = {}
        self.full: set[tuple[str, int]] = set()

    def update(self, models: Mapping[str, ModelReport], *, is_new: bool) -> None:
        """Take in a report; a new one counts what is in flight."""
        if is_new:
            self.added_units = {}
        self._reported = {name: _by_rank(report) for name, report in models.items()}
        self.full.clear()
        for name in self._reported:
            self._update_full(name)

    def add(self, model: str, cost: RequestCost, units: float) -> None:
        """Count a request's units, or less than nothing when it ends."""
        if not cost.is_long:
            added = self.added_units.setdefault(model, [0.0] * len(Priority))
            for rank in range(cost.priority.rank, len(added)):
                added[rank] += units
            self._update_full(model)

    def _update_full(self, model: str) -> None:
        if (reported := self._reported.get(model)) is not None:
            units_by_rank = self.added_units.get(model, _NOTHING)
            for rank, (ahead, limit, added) in enumerate(zip(*reported, units_by_rank, strict=True)):
                if ahead + added < limit:
                    self.full.discard((model, rank))
                else:
                    self.full.add((model, rank))


_NOTHING: Final = [0.0] * len(Priority)


def _by_rank(report: ModelReport) -> tuple[list[float], list[float]]:
    """Return what is ahead of each class, and its limit.

    No limit where it is not said; for 0 one that nothing is below.
    """
    capacities = [report.capacity.get(priority) for priority in Priority]
    return (
        [capacity.ahead if capacity else 0.0 for capacity in capacities],
        [(capacity.limit or -math.inf) if capacity else math.inf for capacity in capacities],
    )
