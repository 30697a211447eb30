"""Usage recorder: collects what keys use, and writes it in batches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import islice
from typing import Final

from proxy.keys.store import MAX_KEYS
from proxy.keys.usage_store import DAYS, KeyUsage, UsageBatch, UsageStore, day_at
from proxy.storage.connection import StoreUnavailableError
from proxy.storage.recent_copies import Outage

log = logging.getLogger(__name__)

# A killed proxy loses what it charged in this time. A translation takes longer: what it lost was in flight.
FLUSH_SECONDS: Final = 0.05
# Of keys and days in one call, which blocks Redis for 2 ms.
BATCH: Final = 500
# All keys on the two days that a night without Redis may touch.
MAX_PENDING: Final = 2 * MAX_KEYS


class UsageRecorder:
    """Usage by day and key, kept while Redis is away.

    A batch whose answer was lost is written again under its number, so Redis counts it once. ``clock`` gives Unix
    seconds, ``monotonic`` those of pauses after a failure.
    """

    def __init__(
        self, store: UsageStore, proxy: str, clock: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        self._store = store
        self._proxy = proxy
        self._clock = clock
        self._pending: dict[tuple[str, str], KeyUsage] = {}
        self._incomplete: set[str] = set()
        self._number = 0
        self._batch: UsageBatch | None = None
        begins = "usage of keys cannot be written, it is kept until then"
        self._writes = asyncio.Lock()
        self._outage = Outage(monotonic, begins, "usage of keys is written again")

    def add(self, key_id: str, *, requests: int = 0, chars: int = 0, day: str | None = None) -> str:
        """Add usage of this day, or another; return the day.

        Beyond ``MAX_PENDING`` it is lost, and the day incomplete.
        """
        day = day or day_at(self._clock())
        entry = day, key_id
        used = self._pending.get(entry)
        if used is None and len(self._pending) >= MAX_PENDING:
            if len(self._incomplete) < DAYS:
                self._incomplete.add(day)
        else:
            self._pending[entry] = KeyUsage(requests, chars).plus(used or KeyUsage())
        return day

    async def flush(self) -> None:
        """Write what is pending; pause after a failure.

        It is called every ``FLUSH_SECONDS``, and after refunds.
        """
        async with self._writes:
            if (self._batch or self._pending or self._incomplete) and self._outage.start_call():
                await self._write()

    async def close(self) -> None:
        """Write the rest; log what is lost because Redis is away."""
        async with self._writes:
            await self._write()
        left = [*self._pending.values(), *(self._batch.amounts.values() if self._batch else ())]
        if left:
            requests, chars = map(sum, zip(*left, strict=True))
            log.error("usage of keys lost, redis is away", extra={"requests": requests, "chars": chars})

    async def _write(self) -> None:
        batches = 1 + len(self._pending) // BATCH  # no more, because requests add to it meanwhile
        for _ in range(batches + (self._batch is not None)):
            self._batch = self._batch or self._next_batch()
            if self._batch is None:
                return
            try:
                await self._store.add(self._proxy, self._batch)
            except StoreUnavailableError as error:
                self._outage.begin(error)
                return
            self._outage.end()
            self._batch = None

    def _next_batch(self) -> UsageBatch | None:
        if not self._pending and not self._incomplete:
            return None
        amounts = {entry: self._pending.pop(entry) for entry in list(islice(self._pending, BATCH))}
        self._number += 1
        batch = UsageBatch(self._number, amounts, frozenset(self._incomplete))
        self._incomplete.clear()
        return batch
