"""Latencies per unit of work, and the delay of hedges."""

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
# Dean and Barroso, The Tail at Scale (CACM 2013).
PERCENTILE: Final = 0.95
HEDGE_SHARE: Final = 0.05
# If latencies hardly differ, 5 % are late by very little.
OVER_MEDIAN: Final = 2.0
# A hedge itself costs about a millisecond.
SHORTEST_DELAY_SECONDS: Final = 0.010
# A hung replica catches 1 to 9 requests (docs/decisions/0013-balancing.md).
HEDGE_BURST: Final = 10.0
# A sort takes 30 microseconds.
SAMPLES: Final = 500
RECENT: Final = 50
SORT_EVERY: Final = 25
# With fewer samples; half of the second that a hung replica may cost.
MIN_SAMPLES: Final = 20
FIRST_SECONDS_PER_UNIT: Final = 0.5
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
    """A model's latency for a pair, and its hedges."""

    _latencies: list[float] = field(default_factory=list[float])
    _next_index: int = 0
    _unsorted: int = 0
    _seconds_per_unit: float = FIRST_SECONDS_PER_UNIT
    _slow: bool = False
    _median_seconds: float | None = None  # per unit of work; None below MIN_SAMPLES
    _tokens: float = HEDGE_BURST

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

    def record_request(self) -> None:
        """Earn a request's share of a hedge."""
        self._tokens = min(HEDGE_BURST, self._tokens + HEDGE_SHARE)

    def delay(self, work: float) -> float | None:
        """Return the seconds before a hedge; None while the fleet is slow."""
        if self._slow:
            return None
        return max(SHORTEST_DELAY_SECONDS, self._seconds_per_unit * work)

    @property
    def can_hedge(self) -> bool:
        """Whether the shares earned so far pay for one hedge."""
        return self._tokens >= 1

    def withdraw(self) -> bool:
        """Pay for one hedge, if possible."""
        if not self.can_hedge:
            return False
        self._tokens -= 1
        return True

    def _sort(self) -> None:
        self._unsorted = 0
        count = len(self._latencies)
        if count < MIN_SAMPLES:
            return
        recent = sorted(self._latencies[self._next_index - 1 - place] for place in range(min(RECENT, count)))
        latencies = sorted(self._latencies)
        self._median_seconds = usual = latencies[count // 2]
        self._slow = recent[len(recent) // 2] > FLEET_SLOW * usual
        self._seconds_per_unit = max(latencies[int(count * PERCENTILE)], OVER_MEDIAN * usual)
