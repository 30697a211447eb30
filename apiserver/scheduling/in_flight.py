"""In-flight ledger: the units of cost that a model has in flight, by caller and lane."""

from __future__ import annotations

from math import inf

from shared.protocol.priority import Lane


class InFlightLedger:
    """What each caller has in flight, as mutable state; a caller is known only while it has a request in flight."""

    def __init__(self) -> None:
        self._units: dict[str, list[float]] = {}
        self._requests: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many callers have something in flight."""
        return len(self._units)

    def add(self, caller: str, lane: Lane, units: float) -> None:
        """Add a request."""
        self._requests[caller] = self._requests.get(caller, 0) + 1
        self._units.setdefault(caller, [0.0] * len(Lane))[lane] += units

    def remove(self, caller: str, lane: Lane, units: float) -> None:
        """Note that so many units of a request are done."""
        own = self._units[caller]
        own[lane] = max(0.0, own[lane] - units)  # sums of fractions leave a little over

    def end(self, caller: str, lane: Lane, units: float) -> None:
        """Remove a request with what is left of it."""
        self.remove(caller, lane, units)
        self._requests[caller] -= 1
        if not self._requests[caller]:
            del self._requests[caller], self._units[caller]

    def units_of(self, caller: str, lane: Lane) -> float:
        """Return what a caller has in flight in the lane and more urgent ones."""
        return sum(self._units.get(caller, ())[: lane + 1])

    def units_before(self, lane: Lane, most: float = inf, most_long: float = inf) -> float:
        """Return what is in flight in the lane and more urgent ones, of each caller no more than ``most``.

        Before a short text goes no more than ``most_long`` of long ones altogether.
        """
        if lane.is_long:
            return sum(min(sum(units[: lane + 1]), most) for units in self._units.values())
        short = sum(min(sum(units[: lane + 1 : 2]), most) for units in self._units.values())
        if not lane:
            return short
        return short + min(sum(min(sum(units[1:lane:2]), most) for units in self._units.values()), most_long)
