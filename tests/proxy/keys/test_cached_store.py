"""The cache of keys, with a real Redis that goes away and comes back."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import pytest

from proxy.keys.api_key import ApiKey, Grant, mint
from proxy.keys.cached_store import AWAY_SECONDS, FRESH_SECONDS, KNOWN_SECONDS, CachedKeyStore, RecentlyUsed
from proxy.keys.store import KeyStore
from proxy.redis_client import StoreUnavailableError
from shared.protocol.access_errors import KeysUnavailableError
from tests.conftest import PREFIX, RedisServer
from tests.proxy.clock import HandClock
from tests.support.waiting import wait_until


def test_recently_used_values_are_bounded_and_expire() -> None:
    memory: RecentlyUsed[int] = RecentlyUsed(2)
    for n in range(3):
        memory.put(str(n), n, now=float(n))
    assert [memory.get(str(n), 3.0, 10.0) for n in range(3)] == [None, 1, 2]
    assert memory.get("1", 3.0, 2.0) is None, "too old"


@pytest.fixture
async def store(own_redis: RedisServer) -> AsyncGenerator[KeyStore]:
    one = KeyStore(own_redis.url, PREFIX, 5.0, time.time)
    yield one
    await one.close()


async def new_key(store: KeyStore) -> ApiKey:
    key, _ = mint(Grant(name="a"), time.time())
    await store.add(key)
    return key


async def test_record_is_believed_unread_for_a_second(store: KeyStore) -> None:
    clock = HandClock()
    cached, key = CachedKeyStore(store, clock, serves_without_redis=True), await new_key(store)
    unknown = "0" * 12
    assert [await cached.look_up(key.id), await cached.look_up(unknown)] == [key, None]
    changed = await store.change(key.id, {"cached": False})
    await store.add(key.model_copy(update={"id": unknown}))
    assert [await cached.look_up(key.id), await cached.look_up(unknown)] == [key, None]
    clock.now += FRESH_SECONDS
    assert await cached.look_up(key.id) == changed
    assert await cached.look_up(unknown) is not None


async def test_revoked_key_is_forgotten_when_it_is_counted(store: KeyStore) -> None:
    cached, key = CachedKeyStore(store, HandClock(), serves_without_redis=True), await new_key(store)
    assert await cached.look_up(key.id) == key
    await store.revoke(key.id)
    assert await cached.count(key.id, requests=1) is None
    found = await cached.look_up(key.id)
    assert found is not None
    assert found.revoked_at is not None


async def test_keys_are_known_for_an_hour_without_redis(store: KeyStore, own_redis: RedisServer) -> None:
    clock = HandClock()
    opened = CachedKeyStore(store, clock, serves_without_redis=True)
    closed = CachedKeyStore(store, clock, serves_without_redis=False)
    key, stranger = await new_key(store), await new_key(store)
    for cached in (opened, closed):
        assert await cached.look_up(key.id) == key
    own_redis.server.kill()
    clock.now += KNOWN_SECONDS - 1
    assert await opened.look_up(key.id) == key
    for cached, key_id in ((opened, stranger.id), (closed, key.id)):
        with pytest.raises(KeysUnavailableError):
            await cached.look_up(key_id)
    with pytest.raises(KeysUnavailableError):
        await opened.count(key.id, requests=1)
    clock.now += 1
    with pytest.raises(KeysUnavailableError):
        await opened.look_up(key.id)
    own_redis.start()

    async def back() -> bool:
        try:
            await store.add(key)
        except StoreUnavailableError:
            return False
        return True

    await wait_until(back, 10, "Redis is back")
    with pytest.raises(KeysUnavailableError):
        await opened.look_up(key.id)
    clock.now += AWAY_SECONDS
    assert await opened.look_up(key.id) == key, "asked again, half a second after it failed"
