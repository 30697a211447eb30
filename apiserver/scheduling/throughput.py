"""Throughput meter: cost units that an engine finishes per second while full."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Final

# Full time over which measurements fade: some batches of a small model, one of a large one.
MEMORY_SECONDS: Final = 5.0
# Full time before the rate is known: the first work of a burst ends late, which would look like no progress.
MIN_SEEN_SECONDS: Final = 2.0
# A slot taken again within this time counts as never free: the next request comes some milliseconds after an answer.
GAP_SECONDS: Final = 0.1
# Work is reported as done within this time after its slot was released.
REPORT_DELAY_SECONDS: Final = 0.01


class ThroughputMeter:
    """Units per second of *full* time; ``clock`` returns monotonic seconds.

    Time with free slots does not count. While only long texts or bulk wait for their share (batch_slots.py), time
    counts by the share of slots held; that estimate is high, and fades once the batch is full.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._fullness: float = 0  # share of slots held; 0 while some are free and nobody waits
        self._counted_until: float = 0
        self._in_gap = False  # slots are free since then, perhaps for a gap only
        self._gap_units: float = 0  # done in a possible gap
        self._units: float = 0
        self._seconds: float = 0  # fades like the units
        self._seen_seconds: float = 0

    @property
    def rate(self) -> float | None:
        """Units per second; None before it is known."""
        self._advance()
        return None if self._seen_seconds < MIN_SEEN_SECONDS else self._units / self._seconds

    def set_fullness(self, share: float) -> None:
        """Set the share of slots that counts as held, 0 to 1."""
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
        """Count the full time since the last call, gaps later."""
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
