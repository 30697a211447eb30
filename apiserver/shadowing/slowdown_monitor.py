"""Slowdown monitor: stops shadow traffic that slows callers down."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Final

# Callers' requests measured before, and at the least during, shadow traffic.
MIN_SAMPLES: Final = 20
# Then the baseline is measured again, because load and texts change: five of six requests may be shadowed.
MAX_SAMPLES: Final = 100
# Medians of 20 requests of equal speed seldom differ by more.
MAX_SLOWDOWN: Final = 1.25
# A pause after a slowdown doubles: callers are slower for two seconds a minute at the most.
MIN_PAUSE_SECONDS: Final = 5.0
MAX_PAUSE_SECONDS: Final = 60.0


class SlowdownMonitor:
    """Callers' latency with and without shadow traffic, measured in turn.

    Mutable state: the samples of this turn, in seconds per cost unit, and the pause.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._alone: list[float] = []
        self._beside: list[float] = []
        self._paused_until = clock()
        self._pause = MIN_PAUSE_SECONDS

    @property
    def allows(self) -> bool:
        """Whether shadow requests may be sent now."""
        return len(self._alone) >= MIN_SAMPLES and self._clock() >= self._paused_until

    def note(self, seconds_per_unit: float, *, is_beside: bool) -> None:
        """Count a caller's request, ``is_beside`` a shadow request or not."""
        if not is_beside:
            if len(self._alone) == MAX_SAMPLES:
                del self._alone[0]
            self._alone.append(seconds_per_unit)
            return
        if not self.allows:
            return  # the rest of the turn before
        self._beside.append(seconds_per_unit)
        count = len(self._beside)
        if count % MIN_SAMPLES:
            return
        if median(self._beside) > MAX_SLOWDOWN * median(self._alone):
            self._paused_until = self._clock() + self._pause
            self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)
            self._begin()
        elif count >= MAX_SAMPLES:
            self._pause = MIN_PAUSE_SECONDS
            self._begin()

    def _begin(self) -> None:
        self._alone.clear()
        self._beside.clear()
