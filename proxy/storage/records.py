"""Records in Redis: read, listed, and changed by compare-and-set or by time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from proxy.storage.connection import Argument, RedisConnection
from proxy.storage.latest_copy import D, LatestCopy
from proxy.storage.scripts import write_latest, write_record
from shared.protocol.errors import PairwayError

log = logging.getLogger(__name__)

T = TypeVar("T")
C = TypeVar("C")
S = TypeVar("S")

# Others may change a record at the same moment.
MAX_TRIES: Final = 5
# Records in one call: reading 64 of a replica, or 100 keys, blocks the event loop for 10 ms.
PAGE: Final = 64
# Names in one call: the 10,000 pairs of 100 languages block it for 0.1 s.
NAMES: Final = 500


class RecordsFullError(Exception):
    """There are as many records as there may be."""


class RecordContendedError(Exception):
    """A record changed at every try, or another version wrote it."""


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """A kind of record as text.

    ``parse`` raises ValueError or PairwayError for what another version wrote, which is logged at ``level``.
    """

    kind: str
    encode: Callable[[T], str]
    parse: Callable[[str], T]
    level: int = logging.WARNING

    def decode(self, text: str | None) -> T | None:
        """Return the record; None without one, or if another version wrote it."""
        if text is None:
            return None
        try:
            return self.parse(text)
        except (ValueError, PairwayError) as error:
            log.log(self.level, "record cannot be read", extra={"kind": self.kind, "error": type(error).__name__})
            return None


async def update_record(
    read: Callable[[], Awaitable[tuple[T, S]]],
    replace: Callable[[S, Any], Awaitable[bool]],
    decide: Callable[[T], C],
) -> C:
    """Write what ``decide`` makes of a record; None keeps it.

    ``read`` returns the record and its stamp, ``replace`` writes another one if it still has that stamp. ``decide`` is
    called again if the record changed meanwhile.

    Raises:
        RecordContendedError: it changed at every try.
    """
    for _ in range(MAX_TRIES):
        record, stamp = await read()
        changed = decide(record)
        if changed is None or await replace(stamp, changed):
            return changed
    raise RecordContendedError


class IndexedRecords(Generic[T]):
    """Records, each with its key, and their ids sorted.

    ``name`` returns a record's key. ``most`` limits them; ``max_bytes`` limits what is read of one, at most ``page`` at
    once. ``score`` and ``life`` (the command that limits it, or nothing) are those of a changed record.
    """

    def __init__(
        self,
        redis: RedisConnection,
        codec: Codec[T],
        index: str,
        name: Callable[[str], str],
        *,
        score: Callable[[T], float] = lambda _: 0.0,
        life: Callable[[T], Sequence[object]] = lambda _: (),
        most: int | None = None,
        max_bytes: int | None = None,
        page: int = PAGE,
    ) -> None:
        self._redis = redis
        self._codec = codec
        self._index = index
        self._name = name
        self._score = score
        self._life = life
        self._most = most
        self._max_bytes = max_bytes
        self._page = page

    async def get(self, record_id: str) -> T | None:
        """Return a record; None if absent or unreadable."""
        return self._codec.decode(await self._redis.call("GET", self._name(record_id)))

    async def update(self, record_id: str, decide: Callable[[T | None], C]) -> C:
        """Write what ``decide`` makes of a record, as ``update_record``.

        Raises:
            RecordContendedError: it changed at every try, or another version wrote it.
            RecordsFullError: a new one would be one too many.
        """

        async def read() -> tuple[T | None, str]:
            text: str | None = await self._redis.call("GET", self._name(record_id))
            record = self._codec.decode(text)
            if record is None and text is not None:
                raise RecordContendedError
            return record, text or ""

        async def replace(before: str, record: T) -> bool:
            return await self.replace(record_id, before, record)

        return await update_record(read, replace, decide)

    async def replace(self, record_id: str, before: str, record: T) -> bool:
        """Write a record if its text is ``before`` ('': none yet).

        Raises:
            RecordsFullError: a new one would be one too many.
        """
        keys = self._name(record_id), (self._index,)
        after, most = self._codec.encode(record), self._most or 0
        values = after, tuple(self._life(record)), record_id, self._score(record), most
        written = await write_record(self._redis, *keys, before, *values)
        if written < 0:
            raise RecordsFullError
        return bool(written)

    async def put(self, records: Mapping[str, T], *, at: float, seconds: float) -> None:
        """Write records of which we are the only writer, for ``seconds``.

        The index forgets those written longer ago, and the earliest beyond ``most``.
        """
        milliseconds = int(seconds * 1000)
        for batch in pages(tuple(records), PAGE) if records else iter([()]):
            commands: list[Sequence[Argument]] = [
                ("SET", self._name(each), self._codec.encode(records[each]), "PX", milliseconds) for each in batch
            ]
            if batch:
                commands.append(("ZADD", self._index, *(part for each in batch for part in (at, each))))
            commands.append(("ZREMRANGEBYSCORE", self._index, "-inf", at - seconds))
            if self._most is not None:
                commands.append(("ZREMRANGEBYRANK", self._index, 0, -self._most - 1))
            await self._redis.send([*commands, ("PEXPIRE", self._index, milliseconds)])

    async def all(self) -> dict[str, T | None]:
        """Return records by id in the index's order; None: unreadable."""
        return await self._list(("ZRANGE", self._index, 0, -1), forget_missing=False)

    async def all_kept(self) -> dict[str, T | None]:
        """Return what ``all`` does; forget ids without a record."""
        return await self._list(("ZRANGE", self._index, 0, -1), forget_missing=True)

    async def latest(self) -> dict[str, T | None]:
        """Return the latest ``most`` records, the last one first."""
        return await self._list(("ZREVRANGE", self._index, 0, (self._most or 0) - 1), forget_missing=False)

    async def _list(self, order: Sequence[Argument], *, forget_missing: bool) -> dict[str, T | None]:
        ids: list[str] = await self._redis.call(*order)
        found: dict[str, T | None] = {}
        for page in pages(ids, self._page):
            texts = dict(zip(page, await self._texts(page), strict=True))
            if forget_missing and (missing := [each for each, text in texts.items() if text is None]):
                await self._redis.call("ZREM", self._index, *missing)
            found |= {each: self._codec.decode(text) for each, text in texts.items() if text}
        return found

    async def _texts(self, page: Sequence[str]) -> list[str | None]:
        if self._max_bytes is not None:
            return await self._redis.send([("GETRANGE", self._name(each), 0, self._max_bytes - 1) for each in page])
        return await self._redis.call("MGET", *map(self._name, page), timeouts=2)


class ExpiringRecords(Generic[T]):
    """Records without an index; ``name`` returns a record's key."""

    def __init__(self, redis: RedisConnection, codec: Codec[T], name: Callable[[str], str]) -> None:
        self._redis = redis
        self._codec = codec
        self._name = name

    async def put(self, records: Mapping[str, T], seconds: float) -> None:
        """Write records for ``seconds``."""
        milliseconds = int(seconds * 1000)
        for page in pages(tuple(records), PAGE):
            texts = ((self._name(each), self._codec.encode(records[each])) for each in page)
            await self._redis.send([("SET", name, text, "PX", milliseconds) for name, text in texts])

    async def get(self, ids: Sequence[str]) -> dict[str, T]:
        """Return the readable records of these."""
        found: dict[str, T] = {}
        for page in pages(ids, PAGE):
            texts: list[str | None] = await self._redis.call("MGET", *map(self._name, page), timeouts=2)
            decoded = zip(page, map(self._codec.decode, texts), strict=True)
            found |= {each: record for each, record in decoded if record is not None}
        return found


class LastSeen:
    """Names with their last Unix times, forgotten after ``seconds``."""

    def __init__(self, redis: RedisConnection, key: str, seconds: int) -> None:
        self._redis = redis
        self._key = key
        self._seconds = seconds

    async def write(self, seen: Mapping[str, float], now: float) -> None:
        """Write times unless Redis has later ones; forget old names."""
        for page in pages(tuple(seen.items()), NAMES):
            times = (part for name, at in page for part in (at, name))
            await self._redis.send([("ZADD", self._key, "GT", *times)])
        forget = ("ZREMRANGEBYSCORE", self._key, "-inf", now - self._seconds), ("EXPIRE", self._key, self._seconds)
        await self._redis.send(forget)

    async def read(self) -> dict[str, float]:
        """Return all names with their times."""
        found: dict[str, float] = {}
        cursor = 0
        while True:  # until Redis has shown all, whatever it adds meanwhile
            members: list[tuple[str, float]]
            cursor, members = await self._redis.call("ZSCAN", self._key, cursor, "COUNT", NAMES)
            found |= {name: at for name, at in members}  # noqa: C416 - redis-py has lists here
            if not cursor:
                return found


def pages(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Return the items in parts of this size."""
    return (items[at : at + size] for at in range(0, len(items), size))


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
