"""RedisCache: the cache's second tier, in a Redis that may forget.

A translation waits for it ``READ_SECONDS`` at most, and never fails with it.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

# The longest that a translation waits for a look-up; more than a busy event loop lags.
READ_SECONDS: Final = 0.05
# The longest that one batch of writes may take; nobody waits for it.
WRITE_SECONDS: Final = 0.5
# After a look-up that failed none is tried for so long, and after a batch that failed none is written.
PAUSE_SECONDS: Final = 1.0
FLUSH_SECONDS: Final = 0.1  # between two writes of what is queued
# The most that waits to be written, in bytes of values; more is dropped: it can be computed again.
MAX_QUEUED_BYTES: Final = 4 * 1024 * 1024
BATCH: Final = 256  # entries: Redis is done with them within a millisecond
MAX_CONNECTIONS: Final = 16  # look-ups at once, and a batch; one more waits for a connection within its time
# Before each value: the Unix time when it ends, so that a copy in a proxy's memory does not outlive it.
_EXPIRES: Final = struct.Struct(">d")


class RedisCache:
    """Entries in Redis, read at once and written in batches.

    Mutable state: what waits to be written, ``queued_bytes`` of values, and until when nothing is read, or written.
    """

    def __init__(self, url: str, prefix: str, clock: Callable[[], float], monotonic: Callable[[], float]) -> None:
        pool = BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType] - partly untyped in redis-py
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=READ_SECONDS,
            socket_timeout=WRITE_SECONDS,
            socket_connect_timeout=WRITE_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._redis: Redis = Redis.from_pool(pool)
        self._prefix = prefix
        self._clock = clock
        self._monotonic = monotonic
        self._queue: dict[bytes, tuple[float, bytes]] = {}
        self.queued_bytes = 0
        self._next_read_at = 0.0
        self._next_write_at = 0.0
        self._failing = False

    async def close(self) -> None:
        """Close the connections; what still waits is not written."""
        await self._redis.aclose()

    async def read(self, keys: Sequence[bytes]) -> dict[bytes, tuple[float, bytes]]:
        """Return the values that are there, each with its Unix expiry; nothing while Redis fails."""
        if self._monotonic() < self._next_read_at:
            return {}
        try:
            async with asyncio.timeout(READ_SECONDS):
                values: list[Any] = await self._redis.mget([self._key(key) for key in keys])  # pyright: ignore[reportUnknownMemberType] - partly untyped there
        except (RedisError, OSError, TimeoutError) as error:
            self._next_read_at = self._record_failure(error)
            return {}
        self._record_success()
        return {key: entry for key, value in zip(keys, values, strict=True) if (entry := self._decode(value))}

    def write(self, key: bytes, value: bytes, expires: float) -> None:
        """Have the value written soon, or dropped where too much waits or the last batch failed."""
        if self._monotonic() >= self._next_write_at and self.queued_bytes + len(value) <= MAX_QUEUED_BYTES:
            self.queued_bytes += len(value) - len(self._queue.get(key, (0.0, b""))[1])
            self._queue[key] = expires, value

    async def flush(self) -> None:
        """Write what waits; to be called every ``FLUSH_SECONDS``."""
        while self._queue:
            batch = [self._queue.popitem() for _ in range(min(BATCH, len(self._queue)))]
            self.queued_bytes -= sum(len(value) for _, (_, value) in batch)
            try:
                await self._write_batch(batch)
            except (RedisError, OSError, TimeoutError) as error:
                self._next_write_at = self._record_failure(error)
                self._queue.clear()
                self.queued_bytes = 0
            else:
                self._record_success()

    async def _write_batch(self, batch: Sequence[tuple[bytes, tuple[float, bytes]]]) -> None:
        now = self._clock()
        async with asyncio.timeout(WRITE_SECONDS), self._redis.pipeline(transaction=False) as pipe:
            for key, (expires, value) in batch:
                if (left := int((expires - now) * 1000)) > 0:
                    pipe.set(self._key(key), _EXPIRES.pack(expires) + value, px=left)
            await pipe.execute()

    def _record_failure(self, error: Exception) -> float:
        """Return when to try again."""
        if not self._failing:
            log.warning("cache's redis failed, going on without", extra={"error": f"{type(error).__name__}: {error}"})
        self._failing = True
        return self._monotonic() + PAUSE_SECONDS

    def _record_success(self) -> None:
        if self._failing:
            log.info("cache's redis is back")
        self._failing = False

    def _key(self, key: bytes) -> str:
        return f"{self._prefix}cache:{key.hex()}"

    def _decode(self, value: object) -> tuple[float, bytes] | None:
        """Return an entry's expiry and value; None where no proxy wrote it."""
        if not isinstance(value, bytes) or len(value) <= _EXPIRES.size:
            return None
        (expires,) = _EXPIRES.unpack_from(value)
        return (expires, value[_EXPIRES.size :]) if expires > self._clock() else None
