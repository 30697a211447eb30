"""Room: how much a replica's model still takes on, by its last report and what this proxy has sent since. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.priority import Priority

if TYPE_CHECKING:
    from proxy.fleet import Replica
    from proxy.freight import Freight


@dataclass(frozen=True, slots=True)
class Room:
    """How full a replica's model is for a class: units ``ahead`` of a new request, the ``limit``, units done a second.

    ``callers`` is what is ahead of a caller with nothing in hand, ``ahead`` what the others have together.
    """

    ahead: float
    callers: float
    limit: float
    rate: float | None


class LoadLedger:
    """What this proxy has in flight at one replica, by model and class; mutable state: now, and at the last report.

    Long texts are left out: a share of the batch is all that they take from others.
    """

    __slots__ = ("_now", "_then")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._now: dict[str, list[float]] = {}
        self._then: dict[str, list[float]] = {}

    def add(self, model: str, freight: Freight) -> None:
        """Count a request."""
        if not freight.is_long:
            self._now.setdefault(model, [0.0] * len(Priority))[freight.priority.rank] += freight.cost

    def remove(self, model: str, freight: Freight) -> None:
        """Count it no longer."""
        if freight.is_long:
            return
        classes = self._now[model]
        classes[freight.priority.rank] -= freight.cost
        # What floating point leaves over must not add up.
        if max(classes) < _DUST:
            del self._now[model]

    def mark(self) -> None:
        """Note that a report has just come: it holds what is in flight now."""
        self._then = {model: list(classes) for model, classes in self._now.items()}

    def since(self, model: str, priority: Priority) -> float:
        """Return by how much the load of this class and more urgent ones has changed since the report."""
        now, then = self._now.get(model, _NOTHING), self._then.get(model, _NOTHING)
        count = priority.rank + 1
        return sum(now[:count]) - sum(then[:count])


_NOTHING: Final[list[float]] = [0.0] * len(Priority)
# The least cost of a request is 1.
_DUST: Final = 1e-6


def room_of(replica: Replica, model: str, ledger: LoadLedger, priority: Priority) -> Room | None:
    """Return how much room short requests of a class find at a replica now; None where it does not say."""
    report = replica.report.models.get(model) if replica.report is not None else None
    said = report.room.get(priority) if report is not None else None
    if report is None or said is None:
        return None
    ahead = max(0.0, said.ahead + ledger.since(model, priority))
    return Room(ahead, said.callers, said.limit, report.rate)
