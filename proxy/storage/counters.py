"""Counters of usage in Redis, exact over all proxies."""

from __future__ import annotations

from collections.abc import Sequence

from proxy.storage.connection import RedisConnection
from proxy.storage.records import MAX_TRIES
from proxy.storage.scripts import count_usage, refund_usage, write_record


class UsageCounters:
    """Counters; each expires, and none falls below 0."""

    def __init__(self, redis: RedisConnection) -> None:
        self._redis = redis

    async def count(
        self,
        record: str,
        counters: Sequence[str],
        limits: Sequence[str],
        amounts: Sequence[int],
        lifetimes: Sequence[int],
    ) -> tuple[int, Sequence[int]] | None:
        """Count all amounts, or none if a limit would be exceeded.

        ``limits`` are fields of the ``record``. Return the place of the last exceeded limit (from 1; 0: none) and the
        counts; None for an absent or revoked record.
        """
        answer = await count_usage(self._redis, record, counters, limits, amounts, lifetimes)
        return None if answer is None else (answer[0], answer[1:])

    async def refund(self, counters: Sequence[str], amount: int) -> None:
        """Subtract an amount from the counters that still exist."""
        await refund_usage(self._redis, counters, amount)

    async def read(self, counters: Sequence[str]) -> list[int | None]:
        """Return the counts, None where nothing was counted."""
        counts: list[str | None] = await self._redis.call("MGET", *counters)
        return [None if count is None else int(count) for count in counts]

    async def raise_to(self, counter: str, least: int, lifetime: int) -> None:
        """Raise a counter to at least this number, for ``lifetime`` seconds."""
        for _ in range(MAX_TRIES):
            used: str | None = await self._redis.call("GET", counter)
            if int(used or 0) >= least:
                return
            life = "EXPIRE", lifetime
            if await write_record(self._redis, counter, (), used or "", str(least), life, "", 0, 0):
                return
