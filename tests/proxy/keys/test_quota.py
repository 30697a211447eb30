"""The limits' windows; Redis' script counts as a proxy does by itself."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from proxy.keys.api_key import ApiKey, Grant, mint
from proxy.keys.quota import BUCKETS, DAY_SECONDS, MAX_COUNTED, LocalCounts, UsageDelta, limit_headers
from proxy.keys.store import KeyStore
from tests.conftest import PREFIX, RedisServer
from tests.proxy.clock import HandClock

NOON = 20_000 * DAY_SECONDS + DAY_SECONDS / 2


def starting(at: float) -> HandClock:
    clock = HandClock()
    clock.now = at
    return clock


def key(**granted: Any) -> ApiKey:
    return mint(Grant(name="a", **granted), 0.0)[0]


@given(
    limit=st.integers(1, 5),
    steps=st.lists(st.floats(0, 70) | st.floats(0, 2), max_size=60),
)
def test_minute_limit_holds_in_any_window_and_wait_is_enough(limit: int, steps: list[float]) -> None:
    clock = starting(NOON)
    counts, holder = LocalCounts(clock), key(requests_per_minute=limit)
    passed: list[float] = []
    for step in steps:
        clock.now += step
        counted = counts.count(holder, UsageDelta(requests=1))
        if counted.granted:
            passed.append(clock())
        else:
            assert sum(at > clock() - BUCKETS for at in passed) >= limit, "refused though there was room"
            clock.now += counted.wait + 1e-5
            assert counts.count(holder, UsageDelta(requests=1)).granted, "told to come back, and refused again"
            passed.append(clock())
    for last in passed:
        assert sum(last - 60 <= at <= last for at in passed) <= limit


@given(
    limit=st.integers(1, 100),
    asks=st.lists(
        st.tuples(st.integers(1, 120), st.booleans(), st.sampled_from([0.0, 10.0, DAY_SECONDS])), max_size=30
    ),
)
def test_day_limit_holds_and_refunds_are_available(limit: int, asks: list[tuple[int, bool, float]]) -> None:
    clock = starting(NOON)
    counts, holder = LocalCounts(clock), key(chars_per_day=limit)
    used: dict[int, int] = {}
    for chars, served, step in asks:
        day = int(clock() // DAY_SECONDS)
        counted = counts.count(holder, UsageDelta(chars=chars))
        assert counted.fits_day == (used.get(day, 0) + chars <= limit)
        assert counted.day == day
        if counted.fits_day and served:
            used[day] = used.get(day, 0) + chars
        clock.now += step
        if counted.fits_day and not served:
            counts.count(holder, UsageDelta(chars=-chars, day=day))
        today = int(clock() // DAY_SECONDS)
        assert counts.count(holder, UsageDelta()).chars == used.get(today, 0)


def test_counted_keys_and_seconds_are_bounded() -> None:
    clock = starting(NOON)
    counts = LocalCounts(clock)
    busy = key()
    for _ in range(200):
        clock.now += 1
        counts.count(busy, UsageDelta(requests=1))
    assert len(counts.usages[busy.id].seconds) == BUCKETS
    one = key()
    for n in range(MAX_COUNTED + 1):
        counts.count(one.model_copy(update={"id": f"{n:012x}"}), UsageDelta(requests=1))
    assert len(counts.usages) == MAX_COUNTED


def test_counts_outlive_a_clock_set_back_by_a_minute() -> None:
    clock = starting(NOON)
    counts, holder = LocalCounts(clock), key(requests_per_minute=1)
    assert counts.count(holder, UsageDelta(requests=1)).granted
    clock.now += -30
    assert not counts.count(holder, UsageDelta(requests=1)).granted
    clock.now += -3600
    assert counts.count(holder, UsageDelta(requests=1)).granted, "nobody waits an hour for it"


def test_limit_headers_show_the_limits() -> None:
    clock = starting(NOON + 0.25)
    counts, holder = LocalCounts(clock), key(requests_per_minute=3, chars_per_day=50)
    counted = counts.count(holder, UsageDelta(requests=1, chars=20))
    assert limit_headers(holder, counted) == {
        "RateLimit-Limit": "3",
        "RateLimit-Remaining": "2",
        "RateLimit-Reset": "61",
        "RateLimit-Policy": '3;w=60, 50;w=86400;comment="characters"',
    }
    assert limit_headers(holder, counted, of_day=True)["RateLimit-Remaining"] == "30"
    assert limit_headers(key(chars_per_day=50), counted)["RateLimit-Reset"] == str(DAY_SECONDS // 2)
    assert limit_headers(key(), counted) == {}


@pytest.fixture
async def store(redis: RedisServer) -> AsyncGenerator[KeyStore]:
    one = KeyStore(redis.url, PREFIX, 5.0, time.time)
    yield one
    await one.close()


@given(
    limit=st.none() | st.integers(1, 20),
    chars_limit=st.none() | st.integers(1, 20),
    seconds=st.dictionaries(st.integers(-70, 70), st.integers(1, 10), max_size=10),
    chars=st.integers(0, 20),
    days_ago=st.integers(0, 1),
    ask=st.builds(UsageDelta, requests=st.integers(0, 3), chars=st.integers(-5, 10), day=st.none()),
)
@example(limit=20, chars_limit=None, seconds={0: 5}, chars=0, days_ago=0, ask=UsageDelta(requests=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_script_in_redis_counts_as_local_counts_do(
    store: KeyStore,
    redis: RedisServer,
    limit: int | None,
    chars_limit: int | None,
    seconds: dict[int, int],
    chars: int,
    days_ago: int,
    ask: UsageDelta,
) -> None:
    redis.client.flushall()
    holder = key(requests_per_minute=limit, chars_per_day=chars_limit)
    await store.add(holder)
    now = int(time.time())
    use = {str(now + at): n for at, n in seconds.items()} | {"day": now // DAY_SECONDS - days_ago, "chars": chars}
    redis.client.hset(f"{PREFIX}use:{holder.id}", mapping=use)
    redis.client.expire(f"{PREFIX}use:{holder.id}", 60)
    found = await store.count(holder.id, ask)
    assert found is not None
    # The twin is told the script's own time, from what is left of the day.
    clock = starting((found.day + 1) * DAY_SECONDS - found.day_left)
    twin = LocalCounts(clock)
    twin.count(holder, UsageDelta())
    local = twin.usages[holder.id]
    local.seconds = {now + at: n for at, n in seconds.items()}
    local.day, local.chars = now // DAY_SECONDS - days_ago, chars
    expected = twin.count(holder, ask)
    assert (found.fits_minute, found.fits_day, found.requests, found.chars) == (
        expected.fits_minute,
        expected.fits_day,
        expected.requests,
        expected.chars,
    )
    assert found.wait == pytest.approx(expected.wait, abs=1e-3)
    kept: dict[str, str] = redis.client.hgetall(f"{PREFIX}use:{holder.id}")
    assert {int(at): int(n) for at, n in kept.items() if at not in {"day", "chars"}} == local.seconds
