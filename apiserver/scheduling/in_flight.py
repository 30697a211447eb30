"""Holdings: the units of cost that a model has in hand, by caller and lane, and what of them comes before a request. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from shared.protocol.lanes import Lane


@dataclass(slots=True)
class _Held:
    units: list[float] = field(default_factory=lambda: [0.0] * len(Lane))
    requests: int = 0


class InFlightLedger:
    """Mutable state: what each caller has in hand. A caller is known only while it has a request in hand."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._callers: dict[str, _Held] = {}

    def __repr__(self) -> str:
        """Show who has how much."""
        return f"<Holdings { {caller: round(sum(held.units), 1) for caller, held in self._callers.items()} }>"

    def __len__(self) -> int:
        """Return how many callers have something in hand."""
        return len(self._callers)

    def add(self, caller: str, lane: Lane, units: float) -> None:
        """Take a request in hand."""
        held = self._callers.setdefault(caller, _Held())
        held.requests += 1
        held.units[lane] += units

    def take(self, caller: str, lane: Lane, units: float) -> None:
        """Note that so many units of a request in hand are done, or given up."""
        held = self._callers[caller]
        held.units[lane] = max(0.0, held.units[lane] - units)  # sums of fractions leave a little over

    def end(self, caller: str) -> None:
        """Let go of a request; all its units were taken."""
        held = self._callers[caller]
        held.requests -= 1
        if not held.requests:
            del self._callers[caller]

    def of(self, caller: str, lane: Lane) -> float:
        """Return what a caller has in hand in the lane and more urgent ones."""
        held = self._callers.get(caller)
        return 0.0 if held is None else sum(held.units[: lane + 1])

    def before(self, lane: Lane, most: float = inf, most_long: float = inf) -> float:
        """Return what is in hand in the lane and more urgent ones, of each caller no more than ``most``.

        Before a short text goes no more than ``most_long`` of long ones altogether.
        """
        if lane.is_long:
            return sum(min(sum(held.units[: lane + 1]), most) for held in self._callers.values())
        short = sum(min(sum(held.units[: lane + 1 : 2]), most) for held in self._callers.values())
        if not lane:
            return short
        return short + min(sum(min(sum(held.units[1:lane:2]), most) for held in self._callers.values()), most_long)
