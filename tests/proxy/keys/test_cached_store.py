"""The cache of keys, with a real Redis that goes away and comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest

from proxy.keys import store as key_store
from proxy.keys.api_key import ApiKey, Grant, mint
from proxy.keys.store import (
    FRESH_SECONDS,
    MAX_STRANGERS,
    MAX_WAITING_STRANGERS,
    CachedKeyStore,
    KeyStore,
)
from proxy.storage.connection import StoreUnavailableError
from proxy.storage.recent_copies import AWAY_SECONDS, KNOWN_SECONDS
from shared.protocol.errors import KeysUnavailableError
from tests.conftest import PREFIX, RedisServer
from tests.support.clock import HandClock
from tests.support.waiting import wait_until


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
    assert [await cached.look_up(key.id), await cached.look_up("0" * 12)] == [key, None]
    changed = await store.change(key.id, {"cached": False})
    assert await cached.look_up(key.id) == key
    clock.now += FRESH_SECONDS
    assert await cached.look_up(key.id) == changed


async def test_known_keys_are_bounded_and_the_oldest_goes(
    store: KeyStore, own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_store, "MAX_KNOWN", 2)
    clock = HandClock()
    cached, keys = CachedKeyStore(store, clock, serves_without_redis=True), [await new_key(store) for _ in range(3)]
    for key in (keys[0], keys[1], keys[0], keys[2]):
        clock.now += FRESH_SECONDS
        assert await cached.look_up(key.id) == key
    for n in range(5):
        assert await cached.look_up(f"{n:012}") is None
    own_redis.server.kill()
    clock.now += FRESH_SECONDS
    assert [await cached.look_up(keys[n].id) for n in (0, 2)] == [keys[0], keys[2]], "no unknown id takes a place"
    with pytest.raises(KeysUnavailableError):
        await cached.look_up(keys[1].id)


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


async def test_guessed_ids_leave_turns_to_known_keys(own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait for a few turns of their own, and say nothing about Redis when these end."""
    monkeypatch.setattr(key_store, "MAX_TURN_SECONDS", 0.05)
    store = KeyStore(own_redis.url, PREFIX, 60.0, time.time)
    clock = HandClock()
    cached, key = CachedKeyStore(store, clock, serves_without_redis=True), await new_key(store)
    assert await cached.look_up(key.id) == key
    clock.now += FRESH_SECONDS
    read, reading, may_read = store.read, list[str](), asyncio.Event()

    async def slow(key_id: str) -> ApiKey | None:
        reading.append(key_id)
        if key_id != key.id:
            await may_read.wait()
        return await read(key_id)

    monkeypatch.setattr(store, "read", slow)
    guesses = [asyncio.create_task(cached.look_up(f"{n:012}")) for n in range(2 * MAX_WAITING_STRANGERS)]
    try:
        await wait_until(lambda: sum(each.done() for each in guesses) == len(guesses) - MAX_STRANGERS, 60)
        assert all(isinstance(each.exception(), KeysUnavailableError) for each in guesses if each.done())
        assert await cached.look_up(key.id) == key
        assert await cached.count(key.id, requests=1) is not None, "no outage began"
        assert len(reading) == MAX_STRANGERS + 1
        may_read.set()
        assert await asyncio.gather(*guesses[:MAX_STRANGERS]) == [None] * MAX_STRANGERS
        assert await cached.look_up("f" * 12) is None, "all turns were given back"
    finally:
        may_read.set()
        await asyncio.gather(*guesses, return_exceptions=True)
        await store.close()
