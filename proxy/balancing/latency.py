"""How long a replica takes for a unit of work."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Final

# How fast good samples take a bad one back: to 1/e in this time. Finagle's default is 10 s; a replica that was slow for a
# while and is well again should have its share again within 5 s.
DECAY_SECONDS: Final = 2.0
# How fast silence does. Slower, or at a few requests a second every second one would go and look how slow the slow are.
SILENCE_SECONDS: Final = 10.0


class PeakEwma:
    """Seconds per unit of work: a peak-sensitive moving average.

    Up at once with a slow sample, down with the time constant ``DECAY_SECONDS``.

    It sinks towards 0 while no sample comes, so that a replica that was slow once is tried again; all sink alike, so
    nothing changes between those that nobody asks. It therefore says nothing of a replica that holds requests and does
    not answer: callers must use the age of the oldest in-flight request, per unit of work, if that is larger.

    Mutable state: the average and its time.
    """

    __slots__ = ("_clock", "_observed_at", "_value")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._value = 0.0
        self._observed_at: float | None = None

    @property
    def value(self) -> float | None:
        """The average now; None before the first sample."""
        return self.at(self._clock())

    def at(self, now: float) -> float | None:
        """Return the average at a time; None before the first sample."""
        if self._observed_at is None:
            return None
        return self._value * exp((self._observed_at - now) / SILENCE_SECONDS)

    def observe(self, seconds_per_unit: float) -> float:
        """Take one sample; return the average."""
        now = self._clock()
        if self._observed_at is None:
            self._value = seconds_per_unit
        else:
            kept = exp((self._observed_at - now) / DECAY_SECONDS)
            self._value = max(seconds_per_unit, self._value * kept + seconds_per_unit * (1 - kept))
        self._observed_at = now
        return self._value

    def reset(self, seconds_per_unit: float) -> None:
        """Begin afresh from this value.

        The latency of a good canary after an absence, or the pair's median.
        """
        self._value = seconds_per_unit
        self._observed_at = self._clock()
