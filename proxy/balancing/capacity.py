"""Capacity: how much a replica's model still takes on, by its last report and what this proxy has sent since. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from proxy.request_cost import RequestCost
from shared.protocol.priority import Priority
from shared.protocol.report import ModelReport


class Capacity(NamedTuple):
    """How full a replica's model is for a class: units ``ahead`` of a new request, the ``limit``, units done a second.

    ``callers`` is what is ahead of a caller with nothing in flight, ``ahead`` what the others have together.
    """

    ahead: float
    callers: float
    limit: float
    rate: float | None


class CapacityTracker:
    """How much one replica's models still take on of each class of short requests.

    Mutable state: what the last report said, and by how much this proxy's load there has changed since (``added``); long
    texts are left out, a share of the batch is all that they take from others. Lists go by the classes' ranks; each change
    counts for its class and those less urgent. ``full`` are the models and ranks that are at their limit now: every pick
    asks for it, three times.
    """

    __slots__ = ("_reported", "added", "full")

    def __init__(self) -> None:
        """Begin with nothing reported: nothing is full."""
        self._reported: dict[str, tuple[list[float], list[float]]] = {}
        self.added: dict[str, list[float]] = {}
        self.full: set[tuple[str, int]] = set()

    def update(self, models: Mapping[str, ModelReport], *, is_new: bool) -> None:
        """Take in a report; one that has just come (``is_new``) holds what is in flight now."""
        if is_new:
            self.added = {}
        self._reported = {name: _by_rank(report) for name, report in models.items()}
        self.full.clear()
        for name in self._reported:
            self._update_full(name)

    def add(self, model: str, cost: RequestCost, units: float) -> None:
        """Count a request's units, or less than nothing when it ends."""
        if not cost.is_long:
            added = self.added.setdefault(model, [0.0] * len(Priority))
            for rank in range(cost.priority.rank, len(added)):
                added[rank] += units
            self._update_full(model)

    def _update_full(self, model: str) -> None:
        if (reported := self._reported.get(model)) is not None:
            added_by_rank = self.added.get(model, _NOTHING)
            for rank, (ahead, limit, added) in enumerate(zip(*reported, added_by_rank, strict=True)):
                if ahead + added < limit:
                    self.full.discard((model, rank))
                else:
                    self.full.add((model, rank))


_NOTHING: Final = [0.0] * len(Priority)


def _by_rank(report: ModelReport) -> tuple[list[float], list[float]]:
    """Return what is ahead of each class, and its limit: none where it is not said, and for 0 one that nothing is below."""
    capacities = [report.capacity.get(priority) for priority in Priority]
    return (
        [capacity.ahead if capacity else 0.0 for capacity in capacities],
        [(capacity.limit or -math.inf) if capacity else math.inf for capacity in capacities],
    )
