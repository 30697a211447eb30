"""Throughput meter: how many units of cost an engine finishes in a second while it is full."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Final

# Seconds of full time over which what was seen fades: some batches of a small model, one of a large one.
MEMORY_SECONDS: Final = 5.0
# Full time before the rate is known: what begins a burst ends only after a while, which would look like standing still.
MIN_SEEN_SECONDS: Final = 2.0
# A slot that is taken again within this was never free: between an answer and the next request there are some milliseconds.
GAP_SECONDS: Final = 0.1
# Work done in a slot is reported so soon after the slot was released.
REPORT_DELAY_SECONDS: Final = 0.01


class ThroughputMeter:
    """Units done per second of *full* time, faded over ``MEMORY_SECONDS`` of it; ``clock`` gives seconds, monotonic.

    Time with free slots does not count. While long texts or bulk wait for their share alone (batch_slots.py), time
    counts by the share of the slots that are held: an estimate on the high side, gone a few seconds after the batch is
    full.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._fullness: float = 0  # share of the slots that counts as held: 0 while some are free, 1 with all held
        self._counted_until: float = 0  # up to when that has been counted
        self._in_gap = False  # whether slots are free since then, which may be a gap
        self._gap_units: float = 0  # units done in what may be a gap
        self._units: float = 0
        self._seconds: float = 0  # both faded alike
        self._seen_seconds: float = 0

    @property
    def rate(self) -> float | None:
        """Units per second, None before it is known."""
        self._advance()
        return None if self._seen_seconds < MIN_SEEN_SECONDS else self._units / self._seconds

    def set_fullness(self, share: float) -> None:
        """Note that from now on the engine is full, by this share of its slots (0 to 1); 0 while some are free."""
        if share == (0 if self._in_gap else self._fullness):
            return
        self._advance()
        if not share:
            self._in_gap = True
            return
        if self._in_gap:  # it was one
            self._in_gap = False
            self._advance()
            self._units += self._gap_units
            self._gap_units = 0
        self._fullness, self._counted_until = share, self._clock()

    def done(self, units: float) -> None:
        """Note work done."""
        self._advance()
        if self._in_gap and self._clock() - self._counted_until > REPORT_DELAY_SECONDS:
            self._gap_units += units
        elif self._fullness:
            self._units += units

    def _advance(self) -> None:
        """Count the full time since the last call; what may be a gap is counted once it has turned out not to be one."""
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
