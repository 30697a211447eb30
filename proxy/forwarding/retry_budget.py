"""Retry budget: how many retries and hedges a proxy may make. Pure.

It keeps retries from overloading a fleet that fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# Finagle's figures: a fifth of the requests, ten each second for nothing, and what is not used is gone after ten seconds.
# https://finagle.github.io/blog/2016/02/08/retry-budgets/
REQUESTS_PER_ATTEMPT: Final = 5
FREE_PER_SECOND: Final = 10
LIFE_SECONDS: Final = 10
# Slices of a second: what is older than LIFE_SECONDS of them is forgotten, both deposits and withdrawals.
_RESERVE: Final = FREE_PER_SECOND * LIFE_SECONDS * REQUESTS_PER_ATTEMPT


class RetryBudget:
    """Budget of retries and hedges: ten a second, and one for every five requests.

    Both count within any ten seconds.

    Mutable state: deposits less withdrawals of each of the last ten seconds, and their sum; whole numbers, a fifth of
    an attempt each.
    """

    __slots__ = ("_clock", "_second", "_slices", "_sum")

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin with the free attempts; ``clock`` gives monotonic seconds."""
        self._clock = clock
        self._second = int(clock())
        self._slices = [0] * LIFE_SECONDS
        self._sum = 0

    def __repr__(self) -> str:
        """Show how many attempts are left."""
        return f"<RetryBudget {self.left}>"

    @property
    def left(self) -> int:
        """How many more attempts may be made now."""
        self._forget()
        return (_RESERVE + self._sum) // REQUESTS_PER_ATTEMPT

    def deposit(self) -> None:
        """Note one first attempt."""
        self._add(1)

    def withdraw(self) -> bool:
        """Pay for one more attempt; False: make none, nothing is left."""
        if self.left < 1:
            return False
        self._add(-REQUESTS_PER_ATTEMPT)
        return True

    def _add(self, amount: int) -> None:
        self._forget()
        self._slices[self._second % LIFE_SECONDS] += amount
        self._sum += amount

    def _forget(self) -> None:
        now = int(self._clock())
        if now == self._second:
            return
        for second in range(self._second + 1, min(now, self._second + LIFE_SECONDS) + 1):
            place = second % LIFE_SECONDS
            self._sum -= self._slices[place]
            self._slices[place] = 0
        self._second = now
