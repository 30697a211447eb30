"""Quantiles: percentiles of durations in bounded memory."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from math import sqrt
from typing import Final

SHORTEST_SECONDS: Final = 0.001
# Each bound is 19 % above the one before, so that a quantile is at most 9 % wrong.
RATIO: Final = 2**0.25
# 1 ms to 65 s, which is longer than a shadow request's deadline.
BOUNDS: Final = tuple(SHORTEST_SECONDS * RATIO**step for step in range(65))


class QuantileHistogram:
    """Histogram of durations in seconds."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1

    def quantile(self, share: float) -> float | None:
        """Return the duration that this share does not exceed; None without any."""
        totals = list(accumulate(self._counts))
        if not totals[-1]:
            return None
        bucket = bisect_left(totals, max(1.0, share * totals[-1]))
        return BOUNDS[min(bucket, len(BOUNDS) - 1)] / sqrt(RATIO)
