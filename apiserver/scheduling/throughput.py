"""Throughput meter: cost units per second while the engine is full."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Final

# Full time over which measurements fade: at least one batch.
MEMORY_SECONDS: Final = 5.0
# Full time before the rate is known: a burst's first work ends late.
MIN_SEEN_SECONDS: Final = 2.0
# A slot taken again within this time counts as never free.
GAP_SECONDS: Final = 0.1
# Work is reported this soon after its slot's release.
REPORT_DELAY_SECONDS: Final = 0.01


class ThroughputMeter:
    """Units per second of *full* time, without free slots.

    While only long texts or bulk wait for their share, time counts by the share of slots held.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._fullness: float = 0  # 0 while slots are free and nobody waits
        self._counted_until: float = 0
        self._in_gap = False  # slots are free, perhaps for a gap
        self._gap_units: float = 0
        self._units: float = 0
        self._seconds: float = 0  # fades like the units
        self._seen_seconds: float = 0

    @property
    def rate(self) -> float | None:
        """Units per second, once known."""
        self._advance()
        return None if self._seen_seconds < MIN_SEEN_SECONDS else self._units / self._seconds

    def set_fullness(self, share: float) -> None:
        """Set the share of slots held, 0 to 1."""
        if share == (0 if self._in_gap else self._fullness):
            return
        self._advance()
        if not share:
            self._in_gap = True
            return
        if self._in_gap:  # it was a gap
            self._in_gap = False
            self._advance()
            self._units += self._gap_units
            self._gap_units = 0
        self._fullness, self._counted_until = share, self._clock()

    def done(self, units: float) -> None:
        """Record finished units."""
        self._advance()
        if self._in_gap and self._clock() - self._counted_until > REPORT_DELAY_SECONDS:
            self._gap_units += units
        elif self._fullness:
            self._units += units

    def _advance(self) -> None:
        now = self._clock()
        if self._in_gap:
            if now - self._counted_until < GAP_SECONDS:
                return
            self._fullness = self._gap_units = 0
            self._in_gap = False
        if not self._fullness:
            self._counted_until = now
            return
        passed = (now - self._counted_until) * self._fullness
        self._counted_until = now
        fade = exp(-passed / MEMORY_SECONDS)
        self._seen_seconds += passed
        self._units *= fade
        self._seconds = self._seconds * fade + MEMORY_SECONDS * (1 - fade)
