"""Records in Redis, changed by compare-and-set or by time; counters of usage."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Generic, TypeVar

from proxy.storage.connection import Argument, RedisConnection
from proxy.storage.latest_copy import D, LatestCopy
from proxy.storage.scripts import count_usage, refund_usage, write_latest, write_record
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

    What another version wrote makes ``parse`` raise ValueError or PairwayError, and is logged at ``level``.
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
    read: Callable[[], Awaitable[tuple[T, S]]], replace: Callable[[S, Any], Awaitable[bool]], decide: Callable[[T], C]
) -> C:
    """Write what ``decide`` makes of a record; None keeps it.

    ``read`` returns it and its stamp, ``replace`` writes if it still has that; else all again. Raises
    RecordContendedError if it changed at every try.
    """
    for _ in range(MAX_TRIES):
        record, stamp = await read()
        changed = decide(record)
        if changed is None or await replace(stamp, changed):
            return changed
    raise RecordContendedError


@dataclass(eq=False, slots=True)
class IndexedRecords(Generic[T]):
    """Records, each with its key ``name(id)``, and their ids sorted.

    At most ``most``; of one ``max_bytes`` are read, ``page`` at once. ``score`` and ``life`` (the command that limits
    it, or nothing) are those of a changed record.
    """

    redis: RedisConnection
    codec: Codec[T]
    index: str
    name: Callable[[str], str]
    _: KW_ONLY
    score: Callable[[T], float] = lambda _: 0.0
    life: Callable[[T], Sequence[object]] = lambda _: ()
    most: int | None = None
    max_bytes: int | None = None
    page: int = PAGE

    async def get(self, record_id: str) -> T | None:
        """Return a record; None if absent or unreadable."""
        return self.codec.decode(await self.redis.call("GET", self.name(record_id)))

    async def update(self, record_id: str, decide: Callable[[T | None], C]) -> C:
        """Write what ``decide`` makes of a record, as ``update_record``.

        Raises RecordContendedError also for another version's, RecordsFullError for one too many.
        """

        async def read() -> tuple[T | None, str]:
            text: str | None = await self.redis.call("GET", self.name(record_id))
            record = self.codec.decode(text)
            if record is None and text is not None:
                raise RecordContendedError
            return record, text or ""

        async def replace(before: str, record: T) -> bool:
            return await self.replace(record_id, before, record)

        return await update_record(read, replace, decide)

    async def replace(self, record_id: str, before: str, record: T) -> bool:
        """Write if the text is ``before`` ('': none), or raise RecordsFullError."""
        keys = self.name(record_id), (self.index,)
        after, most = self.codec.encode(record), self.most or 0
        values = after, tuple(self.life(record)), record_id, self.score(record), most
        written = await write_record(self.redis, *keys, before, *values)
        if written < 0:
            raise RecordsFullError
        return bool(written)

    async def put(self, records: Mapping[str, T], *, at: float, seconds: float) -> None:
        """Write records of which we are the only writer, for ``seconds``.

        The index forgets earlier ones, and the earliest beyond ``most``.
        """
        milliseconds = int(seconds * 1000)
        for batch in pages(tuple(records), PAGE) if records else iter([()]):
            commands: list[Sequence[Argument]] = [
                ("SET", self.name(each), self.codec.encode(records[each]), "PX", milliseconds) for each in batch
            ]
            if batch:
                commands.append(("ZADD", self.index, *(part for each in batch for part in (at, each))))
            commands.append(("ZREMRANGEBYSCORE", self.index, "-inf", at - seconds))
            if self.most is not None:
                commands.append(("ZREMRANGEBYRANK", self.index, 0, -self.most - 1))
            await self.redis.send([*commands, ("PEXPIRE", self.index, milliseconds)])

    async def all(self, *, forget_missing: bool = False) -> dict[str, T | None]:
        """Return records by id in the index's order; None: unreadable."""
        return await self._list(("ZRANGE", self.index, 0, -1), forget_missing=forget_missing)

    async def latest(self) -> dict[str, T | None]:
        """Return the latest ``most`` records, the last one first."""
        return await self._list(("ZREVRANGE", self.index, 0, (self.most or 0) - 1), forget_missing=False)

    async def _list(self, order: Sequence[Argument], *, forget_missing: bool) -> dict[str, T | None]:
        ids: list[str] = await self.redis.call(*order)
        found: dict[str, T | None] = {}
        for page in pages(ids, self.page):
            texts = dict(zip(page, await self._texts(page), strict=True))
            if forget_missing and (missing := [each for each, text in texts.items() if text is None]):
                await self.redis.call("ZREM", self.index, *missing)
            found |= {each: self.codec.decode(text) for each, text in texts.items() if text}
        return found

    async def _texts(self, page: Sequence[str]) -> list[str | None]:
        if self.max_bytes is not None:
            return await self.redis.send([("GETRANGE", self.name(each), 0, self.max_bytes - 1) for each in page])
        return await self.redis.call("MGET", *map(self.name, page), timeouts=2)


@dataclass(eq=False, slots=True)
class ExpiringRecords(Generic[T]):
    """Records without an index; ``name`` returns a record's key."""

    redis: RedisConnection
    codec: Codec[T]
    name: Callable[[str], str]

    async def put(self, records: Mapping[str, T], seconds: float) -> None:
        """Write records for ``seconds``."""
        milliseconds = int(seconds * 1000)
        for page in pages(tuple(records), PAGE):
            texts = ((self.name(each), self.codec.encode(records[each])) for each in page)
            await self.redis.send([("SET", name, text, "PX", milliseconds) for name, text in texts])

    async def get(self, ids: Sequence[str]) -> dict[str, T]:
        """Return the readable records of these."""
        found: dict[str, T] = {}
        for page in pages(ids, PAGE):
            texts: list[str | None] = await self.redis.call("MGET", *map(self.name, page), timeouts=2)
            decoded = zip(page, map(self.codec.decode, texts), strict=True)
            found |= {each: record for each, record in decoded if record is not None}
        return found


@dataclass(eq=False, slots=True)
class LastSeen:
    """Names with their last Unix times, forgotten after ``seconds``.

    They are read and written in pages.
    """

    redis: RedisConnection
    key: str
    seconds: int

    async def write(self, seen: Mapping[str, float], now: float) -> None:
        """Write times unless Redis has later ones; forget old names."""
        kept = ("EXPIRE", self.key, self.seconds)
        for page in pages(tuple(seen.items()), NAMES):
            times = [part for name, at in page for part in (at, name)]
            await self.redis.send([("ZADD", self.key, "GT", *times), kept])
        await self.redis.send([("ZREMRANGEBYSCORE", self.key, "-inf", now - self.seconds), kept])

    async def read(self) -> dict[str, float]:
        """Return all names with their times."""
        found: dict[str, float] = {}
        cursor, is_first = 0, True
        while cursor or is_first:
            page: tuple[int, list[tuple[str, float]]] = await self.redis.call("ZSCAN", self.key, cursor, "COUNT", NAMES)
            (cursor, times), is_first = page, False
            found.update(times)
        return found


def pages(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Return the items in parts of this size."""
    return (items[at : at + size] for at in range(0, len(items), size))


@dataclass(eq=False, slots=True)
class LatestRecords(Generic[D]):
    """The records in Redis, which live for ``seconds`` after the last renewal."""

    redis: RedisConnection
    codec: Codec[D]
    register: str
    name: Callable[[D], str]
    seconds: int

    async def read(self, *, renew: bool) -> list[D]:
        """Return readable records; ``renew`` restarts their life."""
        texts: dict[str, str] = await self.redis.call("HGETALL", self.register)
        if renew and texts:
            await self.redis.call("EXPIRE", self.register, self.seconds)
        decoded = map(self.codec.decode, texts.values())
        return [each for each in decoded if each is not None]

    async def write(self, records: Iterable[D]) -> None:
        """Write records unless Redis has later ones."""
        rows = [(self.name(each), each.at, self.codec.encode(each)) for each in records]
        await write_latest(self.redis, self.register, rows, self.seconds)

    async def delete(self, names: Sequence[str]) -> None:
        """Delete the records of these names (at least one)."""
        await self.redis.call("HDEL", self.register, *names)

    async def sync(self, copy: LatestCopy[D], on_change: Callable[[], None], *, renew: bool) -> None:
        """Merge with Redis, both ways; ``on_change`` hears of changes before the write."""
        stored = await self.read(renew=renew)
        if copy.merge(stored):
            on_change()
        if missing := copy.missing_in(stored):
            await self.write(missing)
        if expired := copy.expired_in(stored):
            await self.delete(expired)


@dataclass(eq=False, slots=True)
class UsageCounters:
    """Counters; each expires, and none falls below 0."""

    redis: RedisConnection

    async def count(
        self,
        record: str,
        counters: Sequence[str],
        limits: Sequence[str],
        amounts: Sequence[int],
        lifetimes: Sequence[int],
    ) -> tuple[int, Sequence[int]] | None:
        """Count all amounts or none, as ``count_usage``; return place and counts."""
        answer = await count_usage(self.redis, record, counters, limits, amounts, lifetimes)
        return None if answer is None else (answer[0], answer[1:])

    async def refund(self, counters: Sequence[str], amount: int) -> None:
        """Subtract an amount from the counters that still exist."""
        await refund_usage(self.redis, counters, amount)

    async def read(self, counters: Sequence[str]) -> list[int | None]:
        """Return the counts, None where nothing was counted."""
        counts: list[str | None] = await self.redis.call("MGET", *counters)
        return [None if count is None else int(count) for count in counts]

    async def raise_to(self, counter: str, least: int, lifetime: int) -> None:
        """Raise a counter to at least this number, for ``lifetime`` seconds."""
        for _ in range(MAX_TRIES):
            used: str | None = await self.redis.call("GET", counter)
            if int(used or 0) >= least:
                return
            life = "EXPIRE", lifetime
            if await write_record(self.redis, counter, (), used or "", str(least), life, "", 0, 0):
                return
