"""Records read recently, for use while Redis is away."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# After its last read a record is used this long without Redis.
KNOWN_SECONDS: Final = 3600.0
# Pause after a failure; then one request tries, while others continue without Redis.
AWAY_SECONDS: Final = 0.5


class RecentCopies(Generic[K, T]):
    """Copies of records; the one checked longest ago is dropped first.

    One is used unchecked for ``fresh_seconds``. The sum of ``size`` is at most ``most``. ``unavailable`` is raised
    where Redis is away. ``clock`` is monotonic.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        fresh_seconds: float,
        most: int,
        unavailable: type[Exception],
        *,
        size: Callable[[T], int] = lambda _: 1,
        serves_without_redis: bool = True,
    ) -> None:
        self._clock = clock
        self._unavailable = unavailable
        self._serves_without_redis = serves_without_redis
        self._fresh_seconds = fresh_seconds
        self._most = most
        self._size_of = size
        self._copies: dict[K, tuple[T, float]] = {}
        self.size = 0

    def fresh(self, key: K) -> T | None:
        """Return a copy that needs no check."""
        copy, checked_at = self._copies.get(key, (None, 0.0))
        return copy if self._clock() - checked_at < self._fresh_seconds else None

    async def get(self, key: K, check: Callable[[T | None], Awaitable[T | None]]) -> T | None:
        """Return a fresh copy, or what ``check`` makes of the last.

        None: there is no record. If ``check`` raises ``unavailable``, a copy that is not too old is used.
        """
        if (fresh := self.fresh(key)) is not None:
            return fresh
        now = self._clock()
        last, checked_at = self._copies.get(key, (None, 0.0))
        try:
            copy = await check(last)
        except self._unavailable:
            if last is not None and self._serves_without_redis and now - checked_at < KNOWN_SECONDS:
                return last
            raise
        self._keep(key, copy, now)
        return copy

    def _keep(self, key: K, copy: T | None, checked_at: float) -> None:
        self.forget(key)  # so that the new entry is the newest
        if copy is None:
            return
        self._copies[key] = copy, checked_at
        self.size += self._size_of(copy)
        while self.size > self._most:
            self.forget(next(iter(self._copies)))

    def forget(self, key: K) -> None:
        """Forget a copy."""
        copy, _ = self._copies.pop(key, (None, 0.0))
        if copy is not None:
            self.size -= self._size_of(copy)


class Outage:
    """Absence of Redis for one kind of call, logged twice."""

    def __init__(self, clock: Callable[[], float], begins: str, ends: str, **fields: object) -> None:
        self._clock = clock
        self._begins = begins
        self._ends = ends
        self._fields = fields
        self._lasts = False
        self._ask_after = 0.0

    def start_call(self) -> bool:
        """Return whether to ask Redis; in an outage one caller asks."""
        now = self._clock()
        if now < self._ask_after:
            return False
        if self._lasts:
            self._ask_after = now + AWAY_SECONDS
        return True

    def begin(self, error: Exception) -> None:
        """Note that a call failed."""
        if not self._lasts:
            log.warning(self._begins, extra={"error": str(error), **self._fields})
        self._lasts, self._ask_after = True, self._clock() + AWAY_SECONDS

    def end(self) -> None:
        """Note that Redis answered."""
        if self._lasts:
            log.info(self._ends)
        self._lasts, self._ask_after = False, 0.0
