"""Redis cache: the second tier; translations never fail because of it."""

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

from proxy.storage.redis_keys import RedisKeys

log = logging.getLogger(__name__)

# One look-up; longer than the lag of a busy event loop.
READ_SECONDS: Final = 0.05
# One batch of writes; nobody waits for it.
WRITE_SECONDS: Final = 0.5
# Pause of look-ups after a failed look-up, of writes after a failed batch.
PAUSE_SECONDS: Final = 1.0
FLUSH_SECONDS: Final = 0.1
# Further entries are dropped: they can be computed again.
MAX_QUEUED_BYTES: Final = 4 * 1024 * 1024
BATCH: Final = 256  # entries: Redis writes them within a millisecond
MAX_CONNECTIONS: Final = 16  # more calls wait, within their time
# Each value begins with its Unix expiry: copies in memory expire with it.
_EXPIRES: Final = struct.Struct(">d")


class RedisCache:
    """Entries in Redis, read at once and written in batches."""

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
        self._key = RedisKeys(prefix).cached
        self._clock = clock
        self._monotonic = monotonic
        self._queue: dict[bytes, tuple[float, bytes]] = {}
        self.queued_bytes = 0
        self._next_read_at = 0.0
        self._next_write_at = 0.0
        self._failing = False

    async def close(self) -> None:
        """Close the connections; drop the queue."""
        await self._redis.aclose()

    async def read(self, keys: Sequence[bytes]) -> dict[bytes, tuple[float, bytes]]:
        """Return found values with Unix expiries; none during a pause."""
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
        """Queue the value, or drop it after a failure or when full."""
        if self._monotonic() >= self._next_write_at and self.queued_bytes + len(value) <= MAX_QUEUED_BYTES:
            self.queued_bytes += len(value) - len(self._queue.get(key, (0.0, b""))[1])
            self._queue[key] = expires, value

    async def flush(self) -> None:
        """Write the queue, every ``FLUSH_SECONDS``."""
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
        """Return the time of the next try."""
        if not self._failing:
            log.warning("cache redis failed, continuing without", extra={"error": f"{type(error).__name__}: {error}"})
        self._failing = True
        return self._monotonic() + PAUSE_SECONDS

    def _record_success(self) -> None:
        if self._failing:
            log.info("cache redis answers again")
        self._failing = False

    def _decode(self, value: object) -> tuple[float, bytes] | None:
        if not isinstance(value, bytes) or len(value) <= _EXPIRES.size:
            return None
        (expires,) = _EXPIRES.unpack_from(value)
        return (expires, value[_EXPIRES.size :]) if expires > self._clock() else None
