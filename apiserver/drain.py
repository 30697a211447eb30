"""DrainRate: how many units of cost an engine gets done in a second while it is full. Pure."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds of full time over which what was seen fades: some batches of a small model, one of a large one.
MEMORY_SECONDS: Final = 5.0
# Full time before the rate is told: what begins a burst ends only after a while, which would look like standing still.
KNOWN_AFTER_SECONDS: Final = 2.0


class DrainRate:
    """Units done per second of *full* time, faded over ``MEMORY_SECONDS`` of it; ``clock`` gives seconds, monotonic.

    Time in which the engine has room is not counted at all, neither its seconds nor what was done in them: an engine with
    little to do does little, and that says nothing of what it could do.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin with nothing known."""
        self._clock = clock
        self._full = False
        self._at = 0.0
        self._units = self._seconds = 0.0  # both faded alike
        self._seen = 0.0

    def __repr__(self) -> str:
        """Show the rate."""
        return f"<DrainRate {self.value}>"

    @property
    def value(self) -> float | None:
        """Units per second, None before it is known."""
        self._pass()
        return None if self._seen < KNOWN_AFTER_SECONDS else self._units / self._seconds

    def full_begins(self) -> None:
        """Note that the engine is full."""
        if not self._full:
            self._full, self._at = True, self._clock()

    def full_ends(self) -> None:
        """Note that the engine has room again."""
        self._pass()
        self._full = False

    def done(self, units: float) -> None:
        """Note work done."""
        if self._full:
            self._pass()
            self._units += units

    def forget(self) -> None:
        """Begin anew: the engine is another."""
        self._full = False
        self._units = self._seconds = self._seen = 0.0

    def _pass(self) -> None:
        """Count the full time since the last look."""
        if not self._full:
            return
        now = self._clock()
        passed, self._at = now - self._at, now
        fade = exp(-passed / MEMORY_SECONDS)
        self._seen += passed
        self._units *= fade
        self._seconds = self._seconds * fade + MEMORY_SECONDS * (1 - fade)
