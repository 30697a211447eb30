"""Room: how much a replica's model still takes on, by its last report and what this proxy has sent since. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from shared.priority import Priority

if TYPE_CHECKING:
    from proxy.freight import Freight


class Room(NamedTuple):
    """How full a replica's model is for a class: units ``ahead`` of a new request, the ``limit``, units done a second.

    ``callers`` is what is ahead of a caller with nothing in hand, ``ahead`` what the others have together.
    """

    ahead: float
    callers: float
    limit: float
    rate: float | None


class LoadLedger:
    """How this proxy's load at one replica has changed since its last report; mutable state: by model and class.

    Long texts are left out: a share of the batch is all that they take from others.
    """

    __slots__ = ("_since",)

    def __init__(self) -> None:
        """Begin with nothing."""
        # For each class the change of its own load and of more urgent ones'. What floating point leaves over lives until
        # the next report.
        self._since: dict[tuple[str, Priority], float] = {}

    def add(self, model: str, freight: Freight) -> None:
        """Count a request."""
        self._change(model, freight, freight.cost)

    def remove(self, model: str, freight: Freight) -> None:
        """Count it no longer."""
        self._change(model, freight, -freight.cost)

    def _change(self, model: str, freight: Freight, by: float) -> None:
        if not freight.is_long:
            for each in _CLASSES[freight.priority.rank :]:
                self._since[model, each] = self._since.get((model, each), 0.0) + by

    def mark(self) -> None:
        """Note that a report has just come: it holds what is in flight now."""
        self._since.clear()

    def since(self, model: str, priority: Priority) -> float:
        """Return by how much the load of this class and more urgent ones has changed since the report."""
        return self._since.get((model, priority), 0.0) if self._since else 0.0


_CLASSES: Final = tuple(Priority)
