"""RetryAfter: when refused callers should retry (docs/decisions/0017-overload.md)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from random import Random
from typing import Final

# Longer waits are spread over the later part of the longest one.
LONGEST_SECONDS: Final = 60
LATER_PART: Final = 0.5
# Returning callers' part of the rate, because requests come at random.
RETRY_SHARE: Final = 0.8
# Callers refused together should not return together.
JITTER: Final = 0.2
# After this time without a refusal the excess is over.
QUIET_SECONDS: Final = 2.0
# The caller with the oldest refusal is forgotten first.
MAX_CALLERS: Final = 10_000


class RetryAfter:
    """Waits of refused callers: excess work over rate, plus jitter."""

    __slots__ = ("_busy_until", "_clock", "_refused_at", "_rng")

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self._busy_until: OrderedDict[str, float] = OrderedDict()
        self._refused_at = 0.0

    def schedule(self, caller: str, units: float, rate: float, excess: float) -> int:
        """Schedule a refused caller's return; return the seconds, 1 to 60.

        ``rate``: units per second; ``excess``: seconds until there is capacity.
        """
        now = self._clock()
        if now - self._refused_at >= QUIET_SECONDS:
            self._busy_until.clear()
        self._refused_at = now
        busy_until = self._busy_until.pop(caller, 0.0)
        while self._busy_until and next(iter(self._busy_until.values())) <= now:
            self._busy_until.popitem(last=False)
        callers = len(self._busy_until) + 1  # with equal parts of the rate
        busy_until = max(busy_until, now + excess) + units * callers / (RETRY_SHARE * rate)
        self._busy_until[caller] = min(busy_until, now + LONGEST_SECONDS)
        if len(self._busy_until) > MAX_CALLERS:
            self._busy_until.popitem(last=False)
        wait = (busy_until - now) * self._rng.uniform(1.0, 1.0 + JITTER)
        if wait > LONGEST_SECONDS:
            wait = LONGEST_SECONDS * self._rng.uniform(LATER_PART, 1.0)
        return max(1, math.ceil(wait))
