"""Statistics of measurements. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the value that so many percent do not exceed; NaN of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else math.nan


def percentile_ms(seconds: Iterable[float], percent: float) -> float:
    """Return a percentile of seconds in milliseconds; NaN of nothing."""
    return 1000 * percentile(seconds, percent)
