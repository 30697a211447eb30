"""Records that all proxies change, in Redis; the latest wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic

from proxy.storage.connection import RedisConnection
from proxy.storage.latest_copy import D, LatestCopy
from proxy.storage.records import Codec
from proxy.storage.scripts import write_latest


class LatestRecords(Generic[D]):
    """The records in Redis, which live for ``seconds`` after the last renewal."""

    def __init__(
        self, redis: RedisConnection, codec: Codec[D], register: str, name: Callable[[D], str], seconds: int
    ) -> None:
        self._redis = redis
        self._codec = codec
        self._register = register
        self._name = name
        self._seconds = seconds

    async def read(self, *, renew: bool) -> list[D]:
        """Return readable records; ``renew`` restarts their life."""
        texts: dict[str, str] = await self._redis.call("HGETALL", self._register)
        if renew and texts:
            await self._redis.call("EXPIRE", self._register, self._seconds)
        decoded = map(self._codec.decode, texts.values())
        return [each for each in decoded if each is not None]

    async def write(self, records: Iterable[D]) -> None:
        """Write records unless Redis has later ones."""
        rows = [(self._name(each), each.at, self._codec.encode(each)) for each in records]
        await write_latest(self._redis, self._register, rows, self._seconds)

    async def delete(self, names: Sequence[str]) -> None:
        """Delete the records of these names (at least one)."""
        await self._redis.call("HDEL", self._register, *names)

    async def sync(self, copy: LatestCopy[D], on_change: Callable[[], None], *, renew: bool) -> None:
        """Merge a copy with Redis, in both directions.

        ``on_change`` hears of other proxies' changes before Redis is written.
        """
        stored = await self.read(renew=renew)
        if copy.merge(stored):
            on_change()
        if missing := copy.missing_in(stored):
            await self.write(missing)
        if expired := copy.expired_in(stored):
            await self.delete(expired)
