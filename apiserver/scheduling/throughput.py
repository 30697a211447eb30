"""ThroughputMeter: how many units of cost an engine gets done in a second while it is full. Pure."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Final

# Seconds of full time over which what was seen fades: some batches of a small model, one of a large one.
MEMORY_SECONDS: Final = 5.0
# Full time before the rate is told: what begins a burst ends only after a while, which would look like standing still.
KNOWN_AFTER_SECONDS: Final = 2.0
# A place that is taken again within this was never room: between an answer and the next request there are some milliseconds.
GAP_SECONDS: Final = 0.1
# What was done in a place is told so soon after it was given back.
TOLD_WITHIN_SECONDS: Final = 0.01


class ThroughputMeter:
    """Units done per second of *full* time, faded over ``MEMORY_SECONDS`` of it; ``clock`` gives seconds, monotonic.

    Time in which the engine has room is not counted at all, neither its seconds nor what was done in them: an engine with
    little to do does little, and that says nothing of what it could do.

    Long texts and bulk may hold only a share of the places (apiserver/scheduling/batch_slots.py). While such wait for that alone, time
    counts as full by the share of the places that are held: a second with a quarter of them as a quarter of one. What a
    full batch would get done is then an estimate, a high one, for an engine gets more done for each of a few; it is
    gone a few seconds after the batch is full.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin with nothing known."""
        self._clock = clock
        self._full: float = 0  # how full: 0 with room, 1 with every place held
        self._at: float = 0  # up to when that has been counted
        self._gap = False  # whether it has room since then, which may be a gap
        self._late: float = 0  # units done in what may be a gap
        self._units: float = 0
        self._seconds: float = 0  # both faded alike
        self._seen: float = 0

    def __repr__(self) -> str:
        """Show the rate."""
        return f"<ThroughputMeter {self.value}>"

    @property
    def value(self) -> float | None:
        """Units per second, None before it is known."""
        self._pass()
        return None if self._seen < KNOWN_AFTER_SECONDS else self._units / self._seconds

    def full(self, share: float) -> None:
        """Note that from now on the engine is full, by this share of its places (0 to 1); 0 while it has room."""
        if share == (0 if self._gap else self._full):
            return
        self._pass()
        if not share:
            self._gap = True
            return
        if self._gap:  # it was one
            self._gap = False
            self._pass()
            self._units += self._late
            self._late = 0
        self._full, self._at = share, self._clock()

    def done(self, units: float) -> None:
        """Note work done."""
        self._pass()
        if self._gap and self._clock() - self._at > TOLD_WITHIN_SECONDS:
            self._late += units
        elif self._full:
            self._units += units

    def forget(self) -> None:
        """Begin anew: the engine is another."""
        self._full, self._gap = 0.0, False
        self._units = self._late = self._seconds = self._seen = 0.0

    def _pass(self) -> None:
        """Count the full time since the last look; what may be a gap is counted once it has turned out not to be one."""
        now = self._clock()
        if self._gap:
            if now - self._at < GAP_SECONDS:
                return
            self._full = self._late = 0
            self._gap = False
        if not self._full:
            self._at = now
            return
        passed = (now - self._at) * self._full
        self._at = now
        fade = exp(-passed / MEMORY_SECONDS)
        self._seen += passed
        self._units *= fade
        self._seconds = self._seconds * fade + MEMORY_SECONDS * (1 - fade)
