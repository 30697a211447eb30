"""How long a replica takes for a unit of work: a peak-sensitive moving average. Pure."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Characters that cost as much as a request does by itself.
CHARS_PER_UNIT: Final = 200
# How fast good news, and silence, take a bad sample back: to 1/e in this time.
DECAY_SECONDS: Final = 5.0


def work_of(chars: int, texts: int = 1) -> float:
    """Return the units of work of so many texts with that many characters together; one unit is an empty text."""
    return texts + chars / CHARS_PER_UNIT


class PeakEwma:
    """Seconds per unit of work: up at once with a slow sample, down with the time constant ``DECAY_SECONDS``.

    Mutable state: the average and its time. It sinks towards 0 while no sample comes, so that a replica that was slow
    once is tried again; all replicas sink alike, so nothing changes between those that nobody asks.
    """

    __slots__ = ("_clock", "_observed_at", "_value")

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin without a sample; ``clock`` gives monotonic seconds."""
        self._clock = clock
        self._value = 0.0
        self._observed_at: float | None = None

    def __repr__(self) -> str:
        """Show the average."""
        return f"<PeakEwma {self.value}>"

    @property
    def value(self) -> float | None:
        """The average now; None before the first sample."""
        if self._observed_at is None:
            return None
        return self._value * exp((self._observed_at - self._clock()) / DECAY_SECONDS)

    @property
    def observed_at(self) -> float | None:
        """When the last sample came (or the last reset was); None before the first."""
        return self._observed_at

    def observe(self, seconds_per_unit: float) -> None:
        """Take one sample."""
        now = self._clock()
        if self._observed_at is None:
            self._value = seconds_per_unit
        else:
            kept = exp((self._observed_at - now) / DECAY_SECONDS)
            self._value = max(seconds_per_unit, self._value * kept + seconds_per_unit * (1 - kept))
        self._observed_at = now

    def reset(self, seconds_per_unit: float) -> None:
        """Begin afresh from this value: what a good canary after an absence says, or the pool's median."""
        self._value = seconds_per_unit
        self._observed_at = self._clock()
