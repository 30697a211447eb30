"""RetryAfter: in how many seconds the refused callers of a model are to come again."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from random import Random
from typing import Final

# Nobody is sent away for longer: those whose turn would be later still are spread over the later part of it.
LONGEST_SECONDS: Final = 60
LATER_PART: Final = 0.5
# The part of the rate that refused work is to use: requests come at random, and rates are measured.
RETRY_SHARE: Final = 0.8
# At most so much of a wait is added by chance, so that those who were refused together do not come back together.
JITTER: Final = 0.2
# After so long without a refusal the excess is over, whoever still waits.
QUIET_SECONDS: Final = 2.0
# Callers whose refused work is known at once; the one that was longest without a new refusal is forgotten first.
MAX_CALLERS: Final = 10_000


class RetryAfter:
    """Waits of refused callers: what is too much, over the rate, rounded up, and some jitter.

    Mutable state: until when the refused work of each caller keeps its part of the rate busy, and the last refusal.
    """

    __slots__ = ("_busy_until", "_clock", "_refused_at", "_rng")

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self._busy_until: OrderedDict[str, float] = OrderedDict()
        self._refused_at = 0.0

    def seconds(self, caller: str, units: float, rate: float, excess: float) -> int:
        """Return in how many seconds, 1 to 60, a caller is to come again with work of so many units.

        ``rate`` are the units that get done in a second, ``excess`` the seconds until there is any capacity.
        """
        now = self._clock()
        if now - self._refused_at >= QUIET_SECONDS:
            self._busy_until.clear()
        self._refused_at = now
        busy_until = self._busy_until.pop(caller, 0.0)
        while self._busy_until and next(iter(self._busy_until.values())) <= now:
            self._busy_until.popitem(last=False)
        callers = len(self._busy_until) + 1  # each gets its part of the rate
        busy_until = max(busy_until, now + excess) + units * callers / (RETRY_SHARE * rate)
        self._busy_until[caller] = min(busy_until, now + LONGEST_SECONDS)
        if len(self._busy_until) > MAX_CALLERS:
            self._busy_until.popitem(last=False)
        wait = (busy_until - now) * self._rng.uniform(1.0, 1.0 + JITTER)
        if wait > LONGEST_SECONDS:
            wait = LONGEST_SECONDS * self._rng.uniform(LATER_PART, 1.0)
        return max(1, math.ceil(wait))
