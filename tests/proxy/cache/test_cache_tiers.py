"""The tiers of the cache: memory, which is bounded, and Redis, which may be away."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.memory_cache import OVERHEAD_BYTES, MemoryCache
from proxy.cache.redis_cache import MAX_QUEUED_BYTES, PAUSE_SECONDS, RedisCache
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import nowhere
from tests.support.clock import HandClock

ENTRY = OVERHEAD_BYTES + 2  # a key and a value of one byte each


def lru(entries: int) -> tuple[MemoryCache, HandClock]:
    clock = HandClock()
    return MemoryCache(entries * ENTRY, clock), clock


def test_put_evicts_the_least_recently_used_entry() -> None:
    cache, clock = lru(2)
    for key in (b"a", b"b"):
        cache.put(key, b"1", clock.now + 1)
    assert cache.get(b"a") == b"1"
    cache.put(b"c", b"1", clock.now + 1)
    assert [cache.get(key) for key in (b"a", b"b", b"c")] == [b"1", None, b"1"]
    assert (len(cache), cache.take_evicted(), cache.take_evicted()) == (2, 1, 0)


def test_get_returns_none_after_expiry() -> None:
    cache, clock = lru(2)
    cache.put(b"a", b"1", clock.now + 10)
    clock.now += 9.9
    assert cache.get(b"a") == b"1", "reading it does not make it live longer"
    clock.now += 0.1
    assert cache.get(b"a") is None
    assert (len(cache), cache.size, cache.take_evicted()) == (0, 0, 0)


@pytest.mark.parametrize("before", [True, False])
def test_put_drops_a_value_above_the_limit_and_what_it_replaces(before: bool) -> None:
    cache, clock = lru(2)
    cache.put(b"b", b"1", clock.now + 1)
    if before:
        cache.put(b"a", b"1", clock.now + 1)
    cache.put(b"a", bytes(3 * ENTRY), clock.now + 1)
    assert (cache.get(b"a"), cache.get(b"b"), len(cache)) == (None, b"1", 1)


steps = st.lists(st.tuples(st.sampled_from("pgt"), st.integers(0, 9), st.integers(0, 3000)), max_size=60)


@given(steps, st.integers(0, 6000))
def test_size_stays_within_the_limit_and_values_are_the_latest(taken: list[tuple[str, int, int]], limit: int) -> None:
    clock = HandClock()
    cache = MemoryCache(limit, clock)
    last: dict[bytes, bytes] = {}
    for number, (step, key_number, size) in enumerate(taken):
        key = b"%d" % key_number
        if step == "p":
            last[key] = number.to_bytes(4, "big") + bytes(size)
            cache.put(key, last[key], clock.now + 5)
        elif step == "g":
            assert cache.get(key) in {None, last.get(key)}
        else:
            clock.now += 1
        assert cache.size <= limit
        kept = cache._entries  # pyright: ignore[reportPrivateUsage] - reading it would change it
        assert cache.size == sum(len(key) + len(value) + OVERHEAD_BYTES for key, (_, value) in kept.items())


async def test_write_queue_is_bounded_and_dropped_after_a_failure() -> None:
    clock = HandClock()
    store = RedisCache(nowhere(), PREFIX, clock, clock)
    value = bytes(MAX_QUEUED_BYTES // 4)
    for key in (b"1", b"2", b"3", b"4", b"5", b"1"):
        store.write(key, value, clock.now + 10)
    assert store.queued_bytes == MAX_QUEUED_BYTES
    await store.flush()
    assert store.queued_bytes == 0, "nothing is kept for a Redis that fails"
    store.write(b"6", value, clock.now + 10)
    assert store.queued_bytes == 0, "it is left alone"
    assert await store.read([b"1"]) == {}
    assert await store.read([b"1"]) == {}
    clock.now += PAUSE_SECONDS
    store.write(b"6", value, clock.now + 10)
    assert store.queued_bytes == len(value)
    await store.close()


async def test_entries_are_written_and_read_in_batches(redis: RedisServer, patient_cache: None) -> None:
    del patient_cache
    store = RedisCache(redis.url, PREFIX, time.time, time.monotonic)
    keys = [b"%d" % number for number in range(1000)]
    expires = time.time() + 60
    for key in keys:
        store.write(key, b"value " + key, expires)
    store.write(b"over", b"value", time.time() - 1)
    await store.flush()
    assert len(redis.keys()) == 1000
    found: dict[bytes, tuple[float, bytes]] = {}
    for start in range(0, 1000, 128):
        found |= await store.read(keys[start : start + 128])
    assert found == {key: (expires, b"value " + key) for key in keys}
    await store.close()
