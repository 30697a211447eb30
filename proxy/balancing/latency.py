"""Latencies per unit of work: of one replica, and of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp
from statistics import median
from typing import Final

# Good samples, or silence, reduce a bad one to 1/e in these times (docs/decisions/0013-balancing.md).
DECAY_SECONDS: Final = 2.0
SILENCE_SECONDS: Final = 10.0
# Before the first sample; equal everywhere, so that only load counts.
FIRST_SECONDS: Final = 0.1
# Requests above it are late: Dean and Barroso, The Tail at Scale (CACM 2013).
PERCENTILE: Final = 0.95
# If latencies hardly differ, 5 % are late by very little.
OVER_MEDIAN: Final = 2.0
# A sort takes 30 microseconds.
SAMPLES: Final = 500
RECENT: Final = 50
SORT_EVERY: Final = 25
# With fewer samples; half of the second that a hung replica may cost.
MIN_SAMPLES: Final = 20
FIRST_LATE_SECONDS: Final = 0.5
# Recent median over overall median; one bad replica hardly moves it.
FLEET_SLOW: Final = 2.0


@dataclass(eq=False, slots=True)
class PeakEwma:
    """Average seconds per unit of work: rises at once, falls with time.

    Callers must use the age of the oldest request, per unit of work, if larger: a hung replica gives no samples.
    """

    _clock: Callable[[], float]
    _value: float = 0.0
    _observed_at: float | None = None

    @property
    def value(self) -> float | None:
        """The current average; None before the first sample."""
        return self.at(self._clock())

    def at(self, now: float) -> float | None:
        """Return the average at a time."""
        if self._observed_at is None:
            return None
        return self._value * exp((self._observed_at - now) / SILENCE_SECONDS)

    @property
    def last(self) -> float | None:
        """The average as of the last sample; None before the first."""
        return None if self._observed_at is None else self._value

    def observe(self, seconds_per_unit: float) -> float:
        """Add one sample; return the average."""
        now = self._clock()
        if self._observed_at is None:
            self._value = seconds_per_unit
        else:
            kept = exp((self._observed_at - now) / DECAY_SECONDS)
            self._value = max(seconds_per_unit, self._value * kept + seconds_per_unit * (1 - kept))
        self._observed_at = now
        return self._value

    def reset(self, seconds_per_unit: float) -> None:
        """Replace the average."""
        self._value = seconds_per_unit
        self._observed_at = self._clock()


@dataclass(eq=False, slots=True)
class ModelLatency:
    """A model's latency for a pair, per unit of work.

    A request is late after ``late_seconds``; ``is_slow``: all requests are late now. ``hedge_debt``: hedges that the
    model's requests have not earned yet (``proxy/forwarding/hedging.py``).
    """

    _latencies: list[float] = field(default_factory=list[float])
    _next_index: int = 0
    _unsorted: int = 0
    _median_seconds: float | None = None  # None below MIN_SAMPLES
    late_seconds: float = FIRST_LATE_SECONDS
    is_slow: bool = False
    hedge_debt: float = 0.0

    @property
    def typical_seconds(self) -> float:
        """Median seconds for a unit of work."""
        return self._median_seconds or (median(self._latencies) if self._latencies else FIRST_SECONDS)

    def observe(self, seconds_per_unit: float) -> None:
        """Add the latency of an answered request."""
        if len(self._latencies) < SAMPLES:
            self._latencies.append(seconds_per_unit)
        else:
            self._latencies[self._next_index] = seconds_per_unit
        self._next_index = (self._next_index + 1) % SAMPLES
        self._unsorted += 1
        if self._unsorted >= SORT_EVERY or len(self._latencies) == MIN_SAMPLES:
            self._sort()

    def _sort(self) -> None:
        self._unsorted = 0
        count = len(self._latencies)
        if count < MIN_SAMPLES:
            return
        recent = sorted(self._latencies[self._next_index - 1 - place] for place in range(min(RECENT, count)))
        latencies = sorted(self._latencies)
        self._median_seconds = usual = latencies[count // 2]
        self.is_slow = recent[len(recent) // 2] > FLEET_SLOW * usual
        self.late_seconds = max(latencies[int(count * PERCENTILE)], OVER_MEDIAN * usual)
