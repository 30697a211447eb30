"""Summaries in a real Redis: written whole, read with bounds."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import pytest

from proxy.status.proxy_summary import MAX_SUMMARY_BYTES
from proxy.status.store import MAX_PROXIES, SUMMARY_SECONDS, StatusStore
from proxy.storage.connection import StoreUnavailableError
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import nowhere
from tests.proxy.status.summaries import summary

TIMEOUT = 5.0


@pytest.fixture
async def store(redis: RedisServer) -> AsyncGenerator[StatusStore]:
    one = StatusStore(redis.url, PREFIX, TIMEOUT)
    yield one
    await one.close()


async def test_summaries_of_all_proxies_are_read(store: StatusStore, redis: RedisServer) -> None:
    now = time.time()
    one, two = summary("p1", at=now), summary("p2", at=now + 1)
    await store.write(one)
    await store.write(two)
    assert await store.read() == [two, one]
    assert 0 < redis.client.ttl(f"{PREFIX}proxy:p1") <= SUMMARY_SECONDS
    assert 0 < redis.client.ttl(f"{PREFIX}proxies") <= SUMMARY_SECONDS


async def test_only_the_latest_proxies_are_read(store: StatusStore, redis: RedisServer) -> None:
    now = time.time()
    for n in range(MAX_PROXIES + 3):
        await store.write(summary(f"p{n}", at=now + n))
    assert [each.name for each in await store.read()] == [f"p{n}" for n in range(MAX_PROXIES + 2, 2, -1)]
    assert redis.client.zcard(f"{PREFIX}proxies") == MAX_PROXIES


async def test_ended_proxies_are_forgotten(store: StatusStore, redis: RedisServer) -> None:
    now = time.time()
    redis.client.zadd(f"{PREFIX}proxies", {"ended": now - SUMMARY_SECONDS - 1})
    await store.write(summary("p1", at=now))
    assert redis.client.zrange(f"{PREFIX}proxies", 0, -1) == ["p1"]


async def test_foreign_and_huge_records_are_passed_over(store: StatusStore, redis: RedisServer) -> None:
    now = time.time()
    await store.write(summary("p1", at=now))
    for name, record in (("future", '{"name": 1}'), ("huge", "x" * 3 * MAX_SUMMARY_BYTES), ("gone", None)):
        redis.client.zadd(f"{PREFIX}proxies", {name: now + 1})
        if record is not None:
            redis.client.set(f"{PREFIX}proxy:{name}", record, ex=60)
    assert [each.name for each in await store.read()] == ["p1"]


async def test_redis_away_is_one_error() -> None:
    store = StatusStore(nowhere(), PREFIX, TIMEOUT)
    for call in (store.write(summary()), store.read()):
        with pytest.raises(StoreUnavailableError):
            await call
    await store.close()
