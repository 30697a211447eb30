"""Counters of periods: a hash in Redis for each day or month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from proxy.storage.connection import RedisConnection
from proxy.storage.records import NAMES
from proxy.storage.redis_keys import RedisKeys
from proxy.storage.scripts import add_amounts

# A writer repeats a batch whose answer was lost as soon as Redis is back; after a longer absence it would count twice.
BATCH_SECONDS: Final = 7 * 24 * 3600

Amounts = Mapping[str, int]


@dataclass(eq=False, slots=True)
class PeriodCounters:
    """Amounts by field of each period; a period expires as a whole."""

    redis: RedisConnection
    keys: RedisKeys

    async def add(self, writer: str, number: int, amounts: Mapping[str, Amounts], lifetimes: Mapping[str, int]) -> None:
        """Add a writer's batch of amounts by period, only once.

        ``number`` rises with each of its batches; ``lifetimes`` are the periods' seconds from now.
        """
        records = [self.keys.period(each) for each in amounts]
        values = list(amounts.values()), [lifetimes[each] for each in amounts]
        await add_amounts(self.redis, self.keys.usage_batch(writer), records, number, *values, BATCH_SECONDS)

    async def read(self, period: str) -> dict[str, int]:
        """Return all fields of a period, read in pages."""
        found: dict[str, int] = {}
        cursor, is_first = 0, True
        while cursor or is_first:
            page: tuple[int, dict[str, str]] = await self.redis.call(
                "HSCAN", self.keys.period(period), cursor, "COUNT", NAMES
            )
            (cursor, fields), is_first = page, False
            found.update((name, int(amount)) for name, amount in fields.items())
        return found

    async def read_fields(self, periods: Sequence[str], fields: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return the fields of each period that exist, of these names."""
        rows = await self.redis.send([("HMGET", self.keys.period(each), *fields) for each in periods])
        return {
            period: {name: int(amount) for name, amount in zip(fields, row, strict=True) if amount is not None}
            for period, row in zip(periods, rows, strict=True)
        }
