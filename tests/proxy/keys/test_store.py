"""The store of keys, with a real Redis."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import pytest

from proxy.keys import store as key_store
from proxy.keys.api_key import ApiKey, Grant, mint
from proxy.keys.usage import CHARS_PER_DAY, CHARS_PER_MONTH, REQUESTS_PER_MINUTE, Limit, UsageResult
from tests.conftest import PREFIX, RedisServer
from tests.support.clock import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def store(redis: RedisServer, clock: HandClock) -> AsyncGenerator[key_store.KeyStore]:
    one = key_store.KeyStore(redis.url, PREFIX, 5.0, clock)
    yield one
    await one.close()


async def new_key(store: key_store.KeyStore, **granted: Any) -> ApiKey:
    key, _ = mint(Grant(name="a", **granted), 0.0)
    await store.add(key)
    return key


def set_time(clock: HandClock, text: str) -> None:
    clock.now = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


async def count(store: key_store.KeyStore, key: ApiKey, *, requests: int = 0, chars: int = 0) -> UsageResult:
    usage = await store.count(key.id, requests=requests, chars=chars)
    assert usage is not None
    return usage


def used(usage: UsageResult) -> tuple[int, ...]:
    return tuple(window.used for window in usage.windows)


def exceeded(usage: UsageResult) -> Limit | None:
    return None if usage.exceeded is None else usage.exceeded.limit


def seconds_left(usage: UsageResult) -> float:
    assert usage.exceeded is not None
    return usage.exceeded.end - usage.now


async def test_request_limit_holds_until_the_minute_ends(store: key_store.KeyStore, clock: HandClock) -> None:
    key = await new_key(store, requests_per_minute=2)
    set_time(clock, "2028-02-29T23:59:59.5")
    assert [exceeded(await count(store, key, requests=1)) for _ in range(3)] == [None, None, REQUESTS_PER_MINUTE]
    refused = await count(store, key, requests=1)
    assert (used(refused), seconds_left(refused)) == ((2, 0, 0), 0.5), "a refused one is not counted"
    set_time(clock, "2028-03-01T00:00:00")
    assert used(await count(store, key, requests=1)) == (1, 0, 0), (
        "twice the limit across the edge: what a window costs"
    )


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ("2027-02-28T23:59:59", "2027-03-01T00:00:00"),
        ("2028-02-29T23:59:59", "2028-03-01T00:00:00"),
        ("2026-12-31T23:59:59", "2027-01-01T00:00:00"),
    ],
)
async def test_day_and_month_limits_end_with_the_calendar(
    store: key_store.KeyStore, clock: HandClock, last: str, first: str
) -> None:
    key = await new_key(store, chars_per_day=60, chars_per_month=100)
    set_time(clock, f"{last[:8]}20T12:00:00")
    assert exceeded(await count(store, key, chars=60)) is None
    assert exceeded(await count(store, key, chars=1)) == CHARS_PER_DAY
    set_time(clock, last)
    assert exceeded(await count(store, key, chars=41)) == CHARS_PER_MONTH
    assert used(await count(store, key, chars=40)) == (0, 40, 100), "nothing of a refused request is counted"
    both = await count(store, key, chars=21)
    assert (exceeded(both), seconds_left(both)) == (CHARS_PER_MONTH, 1.0), "the longer wait of two"
    set_time(clock, first)
    assert used(await count(store, key, chars=60)) == (0, 60, 60)


async def test_leap_day_belongs_to_february(store: key_store.KeyStore, clock: HandClock) -> None:
    key = await new_key(store, chars_per_month=100)
    set_time(clock, "2028-02-28T23:59:59")
    await count(store, key, chars=90)
    set_time(clock, "2028-02-29T00:00:00")
    assert exceeded(await count(store, key, chars=11)) == CHARS_PER_MONTH
    assert used(await count(store, key, chars=10)) == (0, 10, 100)


async def test_refund_goes_to_the_windows_that_were_charged(store: key_store.KeyStore, clock: HandClock) -> None:
    key = await new_key(store, chars_per_day=100, chars_per_month=200)
    set_time(clock, "2027-04-29T23:59:59")
    charged = await count(store, key, chars=60)
    set_time(clock, "2027-04-30T00:00:00")
    await count(store, key, chars=30)
    await store.refund(charged.counters[1:], 60)
    assert used(await count(store, key)) == (0, 30, 30), "yesterday's day, and the month of both"
    set_time(clock, "2027-04-29T23:59:59")
    assert used(await count(store, key)) == (0, 0, 30)
    set_time(clock, "2027-05-01T00:00:00")
    charged = await count(store, key, chars=5)
    await store.refund(charged.counters[1:], 6)
    assert used(await count(store, key)) == (0, 0, 0), "never below nothing"


async def test_refund_of_a_forgotten_window_leaves_nothing(store: key_store.KeyStore, redis: RedisServer) -> None:
    key = await new_key(store, chars_per_day=100)
    charged = await count(store, key, chars=60)
    redis.client.delete(*charged.counters)
    await store.refund(charged.counters[1:], 60)
    assert redis.keys() == [f"{PREFIX}key:{key.id}", f"{PREFIX}keys"], "a counter below nothing would allow more"


async def test_counters_live_little_longer_than_their_windows(
    store: key_store.KeyStore, redis: RedisServer, clock: HandClock
) -> None:
    set_time(clock, "2027-04-30T23:00:10")
    key = await new_key(store)
    await count(store, key, requests=1)
    await count(store, key, chars=9)
    names = {"requests:2027-04-30T23:00": 50, "characters:2027-04-30": 3590, "characters:2027-04": 3590}
    for name, seconds in names.items():
        lasts = redis.client.ttl(f"{PREFIX}use:{key.id}:{name}")
        assert seconds < lasts <= seconds + key_store.GRACE_SECONDS


@pytest.mark.parametrize(("limits", "granted"), [({"requests_per_minute": 20}, 20), ({"chars_per_month": 205}, 20)])
async def test_counts_of_two_proxies_are_exact(redis: RedisServer, limits: dict[str, int], granted: int) -> None:
    clocks = [HandClock(), HandClock()]
    clocks[1].now += 5  # clocks differ, the minute is one
    stores = [key_store.KeyStore(redis.url, PREFIX, 5.0, clock) for clock in clocks]
    key = await new_key(stores[0], **limits)
    answers = await asyncio.gather(*(count(stores[n % 2], key, requests=1, chars=10) for n in range(60)))
    assert Counter(exceeded(each) is None for each in answers) == {True: granted, False: 60 - granted}
    assert used(await count(stores[1], key)) == (granted, granted * 10, granted * 10)
    for each in stores:
        await each.close()


async def test_changed_limit_and_revocation_hold_at_once(store: key_store.KeyStore) -> None:
    key = await new_key(store)
    assert exceeded(await count(store, key, requests=1, chars=10)) is None
    await store.change(key.id, {"chars_per_month": 10})
    assert exceeded(await count(store, key, chars=1)) == CHARS_PER_MONTH
    await store.change(key.id, {"chars_per_month": None})
    assert exceeded(await count(store, key, chars=1)) is None
    await store.revoke(key.id)
    assert await store.count(key.id) is None
    assert await store.count("0" * 12) is None


async def test_record_of_an_earlier_version_loads(store: key_store.KeyStore, redis: RedisServer) -> None:
    key = await new_key(store, requests_per_minute=1)
    earlier = {**key.model_dump(mode="json"), "chars_per_month": None}
    del earlier["chars_per_month"]
    assert earlier["chars_per_day"] is None, "it wrote down what it had no limit for"
    redis.client.set(f"{PREFIX}key:{key.id}", json.dumps(earlier))
    assert await store.read(key.id) == key
    assert [exceeded(await count(store, key, requests=1)) for _ in range(2)] == [None, REQUESTS_PER_MINUTE]
    changed = await store.change(key.id, {"chars_per_month": 5})
    assert await store.read(key.id) == changed
    assert "chars_per_month" in redis.client.get(f"{PREFIX}key:{key.id}")


async def test_record_without_month_limit_suits_earlier_versions(store: key_store.KeyStore, redis: RedisServer) -> None:
    key = await new_key(store, chars_per_day=1)
    assert "chars_per_month" not in json.loads(redis.client.get(f"{PREFIX}key:{key.id}"))
