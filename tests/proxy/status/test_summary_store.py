"""Summaries of proxies: bounded records, written whole to a real Redis, read with bounds."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import pytest
from pydantic import ValidationError

from proxy.status.figure_ring import MAX_LABEL_CHARS, MAX_PAIRS, SLOTS, SlotFigures
from proxy.status.fleet_event import MAX_EVENTS, FleetEvent, FleetEventKind
from proxy.status.summary_store import (
    MAX_NAME_CHARS,
    MAX_PROXIES,
    MAX_SUMMARY_BYTES,
    SUMMARY_SECONDS,
    ProxySummary,
    SummaryStore,
    encode,
)
from tests.conftest import PREFIX, RedisServer
from tests.proxy.status.summaries import summary

parse = ProxySummary.model_validate_json
BUSY = {"classes": {"ok": 10**9, "failed": 10**9}, "buckets": dict.fromkeys(range(15), 10**9)}


def busy(slot: int) -> SlotFigures:
    return SlotFigures(slot=slot, codes={f"a-rather-long-code-{n}": 10**9 for n in range(9)}, **BUSY)  # pyright: ignore[reportArgumentType] - BUSY has fields of several types


def event(at: float, letter: str = "x") -> FleetEvent:
    return FleetEvent.of(FleetEventKind.REPLICA_DOWN, at, letter * 1000, letter * 1000)


def test_record_is_read_as_written() -> None:
    full = summary(slots=[SlotFigures(slot=3, classes={"ok": 1}, buckets={4: 1})], events=[event(1.0)], leader=True)
    assert parse(encode(full)) == full
    assert parse(encode(full.model_copy(update={"pairs": {"en-de": (3, 1)}}))).pairs == {"en-de": (3, 1)}
    assert parse(encode(full)).pairs is None, "as earlier versions write it"


def test_fullest_summary_is_small_enough_whole() -> None:
    full = summary(
        "n" * MAX_NAME_CHARS,
        slots=[busy(n) for n in range(SLOTS)],
        events=[event(n) for n in range(MAX_EVENTS)],
        pairs={f"{n:x>{MAX_LABEL_CHARS}}": (10**6, 10**6) for n in range(MAX_PAIRS)},
    )
    record = encode(full)
    assert len(record) <= MAX_SUMMARY_BYTES
    assert parse(record) == full


def test_larger_summary_loses_its_oldest_parts() -> None:
    events = [event(n, "\u4e2d") for n in range(MAX_EVENTS)]
    huge = [SlotFigures(slot=n, codes={str(k) + "\u4e2d" * 60: 1 for k in range(9)}) for n in range(SLOTS)]
    record = encode(summary(slots=huge, events=events))
    assert len(record.encode()) <= MAX_SUMMARY_BYTES
    kept = parse(record)
    assert kept.slots[-1:] == huge[-1:]
    assert kept.events == []


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        '{"name": "from the future"}',
        encode(summary())[:-1],
        encode(summary("p" * 10)).replace("p" * 10, "p" * 1000),
        encode(summary()).replace("1000.0", "NaN"),
        encode(summary(slots=[SlotFigures(slot=1, buckets={3: 1})])).replace('"3":1', '"99":1'),
        encode(summary(slots=[SlotFigures(slot=1, buckets={3: 1})])).replace('"3":1', '"3":-1'),
    ],
)
def test_foreign_record_is_refused(record: str) -> None:
    with pytest.raises(ValidationError):
        parse(record)


TIMEOUT = 5.0


@pytest.fixture
async def store(redis: RedisServer) -> AsyncGenerator[SummaryStore]:
    one = SummaryStore(redis.url, PREFIX, TIMEOUT)
    yield one
    await one.close()


async def test_summaries_of_all_proxies_are_read(store: SummaryStore, redis: RedisServer) -> None:
    now = time.time()
    one, two = summary("p1", at=now), summary("p2", at=now + 1)
    await store.write(one)
    await store.write(two)
    assert await store.read() == [two, one]
    assert 0 < redis.client.ttl(f"{PREFIX}proxy:p1") <= SUMMARY_SECONDS
    assert 0 < redis.client.ttl(f"{PREFIX}proxies") <= SUMMARY_SECONDS


async def test_only_the_latest_proxies_are_read(store: SummaryStore, redis: RedisServer) -> None:
    now = time.time()
    for n in range(MAX_PROXIES + 3):
        await store.write(summary(f"p{n}", at=now + n))
    assert [each.name for each in await store.read()] == [f"p{n}" for n in range(MAX_PROXIES + 2, 2, -1)]
    assert redis.client.zcard(f"{PREFIX}proxies") == MAX_PROXIES


async def test_ended_proxies_are_forgotten(store: SummaryStore, redis: RedisServer) -> None:
    now = time.time()
    redis.client.zadd(f"{PREFIX}proxies", {"ended": now - SUMMARY_SECONDS - 1})
    await store.write(summary("p1", at=now))
    assert redis.client.zrange(f"{PREFIX}proxies", 0, -1) == ["p1"]


async def test_foreign_and_huge_records_are_passed_over(store: SummaryStore, redis: RedisServer) -> None:
    now = time.time()
    await store.write(summary("p1", at=now))
    for name, record in (("future", '{"name": 1}'), ("huge", "x" * 3 * MAX_SUMMARY_BYTES), ("gone", None)):
        redis.client.zadd(f"{PREFIX}proxies", {name: now + 1})
        if record is not None:
            redis.client.set(f"{PREFIX}proxy:{name}", record, ex=60)
    assert [each.name for each in await store.read()] == ["p1"]
