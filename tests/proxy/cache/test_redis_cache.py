"""RedisCache: what waits to be written is bounded; entries go in batches."""

from __future__ import annotations

import time

from proxy.cache.redis_cache import MAX_QUEUED_BYTES, PAUSE_SECONDS, RedisCache
from tests.conftest import PREFIX, RedisServer
from tests.proxy.clock import HandClock
from tests.proxy.proxies import nowhere


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
