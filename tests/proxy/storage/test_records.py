"""Records with an index in a real Redis: listed, changed by one at a time, bounded, and left alone if foreign."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from proxy.storage.connection import RedisConnection
from proxy.storage.records import (
    MAX_TRIES,
    NAMES,
    IndexedRecords,
    LastSeen,
    RecordContendedError,
    RecordsFullError,
    update_record,
)
from tests.conftest import PREFIX, RedisServer
from tests.proxy.storage.connections import CODEC, Note, connection_to

INDEX = f"{PREFIX}notes"


def name(record_id: str) -> str:
    return f"{PREFIX}note:{record_id}"


def lasting(_: Note) -> Sequence[object]:
    return "EXPIRE", 60


@pytest.fixture
async def connection(redis: RedisServer) -> AsyncGenerator[RedisConnection]:
    async with connection_to(redis.url) as one:
        yield one
    redis.client.expire(INDEX, 60)


def notes(connection: RedisConnection, **options: Any) -> IndexedRecords[Note]:
    """Return records of which each expires."""
    return IndexedRecords(connection, CODEC, INDEX, name, score=lambda each: each.at, life=lasting, **options)


async def test_record_is_written_changed_and_read(connection: RedisConnection, redis: RedisServer) -> None:
    records = notes(connection, most=9)
    assert await records.get("a") is None
    assert await records.update("a", lambda _: Note(name="a")) == Note(name="a")
    changed = await records.update("a", lambda note: note and note.model_copy(update={"count": note.count + 1}))
    assert changed == await records.get("a") == Note(name="a", count=1)
    assert await records.update("a", lambda _: None) is None
    assert await records.get("a") == changed, "None keeps it"
    assert 0 < redis.client.ttl(name("a")) <= 60


async def test_names_of_many_parts_are_read(connection: RedisConnection) -> None:
    now = time.time()
    last_seen = LastSeen(connection, f"{PREFIX}seen", 60)
    seen = {f"name-{number}": now + number for number in range(3 * NAMES + 1)}
    await last_seen.write(seen, now)
    assert await last_seen.read() == seen
    await last_seen.write({"name-0": now - 1, "new": now}, now)
    assert await last_seen.read() == seen | {"new": now}
    await last_seen.write({}, now + 60 + NAMES)
    assert set(await last_seen.read()) == {f"name-{number}" for number in range(NAMES + 1, 3 * NAMES + 1)}


async def test_concurrent_changes_all_count(connection: RedisConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.storage.records.MAX_TRIES", 100)
    records = notes(connection, most=9)

    def one_more(note: Note | None) -> Note:
        return Note(name="a", count=(note.count if note else 0) + 1)

    await asyncio.gather(*(records.update("a", one_more) for _ in range(20)))
    assert await records.get("a") == Note(name="a", count=20)


async def test_record_that_changes_at_every_try_is_contended() -> None:
    tries: list[int] = []

    async def read() -> tuple[int, int]:
        return 1, 1

    async def replace(stamp: int, _record: int) -> bool:
        tries.append(stamp)
        return False

    with pytest.raises(RecordContendedError):
        await update_record(read, replace, lambda number: number + 1)
    assert len(tries) == MAX_TRIES


async def test_record_of_a_newer_version_is_left_alone(connection: RedisConnection, redis: RedisServer) -> None:
    records = notes(connection, most=9)
    redis.client.set(name("a"), '{"newer": true}', ex=60)
    redis.client.zadd(INDEX, {"a": 1.0})
    assert await records.get("a") is None
    assert await records.all() == await records.all(forget_missing=True) == {"a": None}
    with pytest.raises(RecordContendedError):
        await records.update("a", lambda _: Note(name="a"))
    assert not await records.replace("a", "", Note(name="a"))
    assert redis.client.get(name("a")) == '{"newer": true}'


async def test_records_are_at_most_so_many(connection: RedisConnection) -> None:
    records = notes(connection, most=2)
    for each in "ab":
        await records.update(each, lambda _, each=each: Note(name=each))
    with pytest.raises(RecordsFullError):
        await records.update("c", lambda _: Note(name="c"))
    await records.update("a", lambda _: Note(name="a", count=2))


async def test_records_are_listed_in_pages_and_missing_ones_forgotten(
    connection: RedisConnection, redis: RedisServer
) -> None:
    records = notes(connection, most=9, page=3)
    for at, each in enumerate("abcdefgh"):
        await records.update(each, lambda _, each=each, at=at: Note(name=each, at=at))
    redis.client.delete(*map(name, "bdef"))
    assert list(await records.all()) == list("acgh")
    assert redis.client.zcard(INDEX) == 8
    assert list(await records.all(forget_missing=True)) == list("acgh")
    assert redis.client.zrange(INDEX, 0, -1) == list("acgh")


async def test_put_records_expire_and_the_earliest_go(connection: RedisConnection, redis: RedisServer) -> None:
    records, now = notes(connection, most=2, max_bytes=100), time.time()
    redis.client.zadd(INDEX, {"ended": now - 61})
    for at, each in enumerate("abc"):
        await records.put({each: Note(name=each)}, at=now + at, seconds=60)
    assert list(await records.latest()) == ["c", "b"]
    assert redis.client.zrange(INDEX, 0, -1) == ["b", "c"]
    assert 0 < redis.client.ttl(name("b")) <= 60
    assert 0 < redis.client.ttl(INDEX) <= 60
    redis.client.set(name("c"), CODEC.encode(Note(name="c" * 100)), ex=60)
    assert await records.latest() == {"c": None, "b": Note(name="b")}, "no more than that is read"
