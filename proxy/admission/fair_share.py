"""FairShare: cost units in flight of each caller of a model."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from proxy.admission.pair_load import UNKNOWN_RATE, PairLoad
from proxy.admission.retry_after import RetryAfter
from proxy.call import Leg

# Rounding errors stay below this; a request costs at least 1.
_ROUNDING_UNITS: Final = 1e-6


class FairShare:
    """The callers of one model, with their units in flight."""

    __slots__ = ("_retry_after", "units")

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        self.units: dict[str, float] = {}
        self._retry_after = RetryAfter(clock, rng)

    def add(self, caller: str, units: float) -> None:
        """Count a caller's request as in flight."""
        self.units[caller] = self.units.get(caller, 0.0) + units

    def remove(self, caller: str, units: float) -> None:
        """Count a caller's request as ended."""
        left = self.units[caller] - units
        if left > _ROUNDING_UNITS:
            self.units[caller] = left
        else:
            del self.units[caller]

    def schedule_return(self, leg: Leg, load: PairLoad | None) -> int:
        """Schedule a refused request's return; return the seconds until then."""
        rate, excess = (UNKNOWN_RATE, 0.0) if load is None else (load.rate, load.excess)
        return self._retry_after.schedule(leg.call.caller.identity, leg.cost.units, rate, excess)
