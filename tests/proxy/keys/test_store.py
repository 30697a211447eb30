"""The store of keys, with a real Redis."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest

from proxy.keys import store as key_store
from proxy.redis_client import StoreUnavailableError
from tests.conftest import PREFIX, RedisServer


async def test_calls_without_a_free_slot_fail_in_time(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_store, "MAX_CALLS", 1)
    store = key_store.KeyStore(redis.url, PREFIX, 30.0, time.time)
    answers = asyncio.Event()

    async def slow(*_: object) -> None:
        await answers.wait()

    monkeypatch.setattr(store, "_execute", slow)
    first = asyncio.create_task(store.read("0" * 12))
    await asyncio.sleep(0)  # it has the turn, for as long as it takes
    monkeypatch.setattr(store, "_timeout", 0.1)
    async with asyncio.timeout(20):
        found = await asyncio.gather(*(store.read("0" * 12) for _ in range(10)), return_exceptions=True)
    assert Counter(type(each) for each in found) == {StoreUnavailableError: 10}
    answers.set()
    assert await first is None
    await store.close()
