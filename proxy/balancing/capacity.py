"""Room: how much a replica's model still takes on, by its last report and what this proxy has sent since. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from proxy.request_cost import RequestCost
from shared.protocol.priority import Priority
from shared.protocol.report import ModelReport


class Capacity(NamedTuple):
    """How full a replica's model is for a class: units ``ahead`` of a new request, the ``limit``, units done a second.

    ``callers`` is what is ahead of a caller with nothing in hand, ``ahead`` what the others have together.
    """

    ahead: float
    callers: float
    limit: float
    rate: float | None


class CapacityTracker:
    """How much room one replica's models have for each class of short requests. Mutable state: what the last report said.

    And by how much this proxy's load there has changed since; long texts are left out, a share of the batch is all that they
    take from others. Lists go by the classes' ranks; each change counts for its class and those less urgent. ``full`` are
    the models and ranks that have no room now: every pick asks for it, three times.
    """

    __slots__ = ("_said", "full", "since")

    def __init__(self) -> None:
        """Begin with nothing said: there is room."""
        self._said: dict[str, tuple[list[float], list[float]]] = {}
        self.since: dict[str, list[float]] = {}
        self.full: set[tuple[str, int]] = set()

    def note(self, models: Mapping[str, ModelReport], *, anew: bool) -> None:
        """Take what a report says; one that has just come (``anew``) holds what is in flight now."""
        if anew:
            self.since = {}
        self._said = {name: _by_rank(report) for name, report in models.items()}
        self.full.clear()
        for name in self._said:
            self._judge(name)

    def add(self, model: str, freight: RequestCost, cost: float) -> None:
        """Count a request's cost, or less than nothing when it ends."""
        if not freight.is_long:
            since = self.since.setdefault(model, [0.0] * len(Priority))
            for rank in range(freight.priority.rank, len(since)):
                since[rank] += cost
            self._judge(model)

    def _judge(self, model: str) -> None:
        if (said := self._said.get(model)) is not None:
            since = self.since.get(model, _NOTHING)
            for rank, (ahead, limit, more) in enumerate(zip(*said, since, strict=True)):
                if ahead + more < limit:
                    self.full.discard((model, rank))
                else:
                    self.full.add((model, rank))


_NOTHING: Final = [0.0] * len(Priority)


def _by_rank(report: ModelReport) -> tuple[list[float], list[float]]:
    """Return what is ahead of each class, and its limit: none where it is not said, and for 0 one that nothing is below."""
    rooms = [report.room.get(each) for each in Priority]
    return (
        [room.ahead if room else 0.0 for room in rooms],
        [(room.limit or -math.inf) if room else math.inf for room in rooms],
    )
