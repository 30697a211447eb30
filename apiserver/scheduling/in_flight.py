"""In-flight ledger: the units of cost that a model has in flight, by caller and lane."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from shared.protocol.lanes import Lane


@dataclass(slots=True)
class _CallerUnits:
    """Units of a caller's requests, by lane; the number of its requests."""

    units: list[float] = field(default_factory=lambda: [0.0] * len(Lane))
    requests: int = 0


class InFlightLedger:
    """What each caller has in flight, as mutable state; a caller is known only while it has a request in flight."""

    def __init__(self) -> None:
        self._callers: dict[str, _CallerUnits] = {}

    def __repr__(self) -> str:
        """Show who has how much."""
        return f"<InFlightLedger { {caller: round(sum(entry.units), 1) for caller, entry in self._callers.items()} }>"

    def __len__(self) -> int:
        """Return how many callers have something in flight."""
        return len(self._callers)

    def add(self, caller: str, lane: Lane, units: float) -> None:
        """Add a request."""
        entry = self._callers.setdefault(caller, _CallerUnits())
        entry.requests += 1
        entry.units[lane] += units

    def remove(self, caller: str, lane: Lane, units: float) -> None:
        """Note that so many units of a request are done, or given up."""
        entry = self._callers[caller]
        entry.units[lane] = max(0.0, entry.units[lane] - units)  # sums of fractions leave a little over

    def end(self, caller: str) -> None:
        """Remove a request; all its units were taken."""
        entry = self._callers[caller]
        entry.requests -= 1
        if not entry.requests:
            del self._callers[caller]

    def units_of(self, caller: str, lane: Lane) -> float:
        """Return what a caller has in flight in the lane and more urgent ones."""
        entry = self._callers.get(caller)
        return 0.0 if entry is None else sum(entry.units[: lane + 1])

    def units_before(self, lane: Lane, most: float = inf, most_long: float = inf) -> float:
        """Return what is in flight in the lane and more urgent ones, of each caller no more than ``most``.

        Before a short text goes no more than ``most_long`` of long ones altogether.
        """
        if lane.is_long:
            return sum(min(sum(entry.units[: lane + 1]), most) for entry in self._callers.values())
        short = sum(min(sum(entry.units[: lane + 1 : 2]), most) for entry in self._callers.values())
        if not lane:
            return short
        return short + min(sum(min(sum(entry.units[1:lane:2]), most) for entry in self._callers.values()), most_long)
