"""Metering over a real Redis: what is charged, refused and refunded."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from proxy.keys.api_key import ApiKey, Grant, mint
from proxy.keys.cached_store import CachedKeyStore, Clocks
from proxy.keys.metering import KeyMeter
from proxy.keys.refusals import Refusals
from proxy.keys.store import KeyStore
from proxy.metrics import ProxyMetrics
from shared.protocol.access_errors import KeysUnavailableError, RateLimitedError
from shared.protocol.errors import TooLargeError
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import nowhere


def meter_over(store: KeyStore, *, serves_without_redis: bool = False) -> KeyMeter:
    clocks = Clocks(time.time, time.monotonic)
    cached = CachedKeyStore(store, clocks, serves_without_redis=serves_without_redis)
    return KeyMeter(cached, Refusals(ProxyMetrics()))


@pytest.fixture
async def store(redis: RedisServer) -> AsyncGenerator[KeyStore]:
    one = KeyStore(redis.url, PREFIX, 5.0, time.time)
    yield one
    await one.close()


async def new_key(store: KeyStore, **granted: Any) -> ApiKey:
    key, _ = mint(Grant(name="a", **granted), time.time())
    await store.add(key)
    return key


async def test_request_over_the_limit_is_refused_with_headers(store: KeyStore) -> None:
    meter, key = meter_over(store), await new_key(store, requests_per_minute=1)
    assert (await meter.count_request(key))["RateLimit-Remaining"] == "0"
    with pytest.raises(RateLimitedError) as caught:
        await meter.count_request(key)
    assert caught.value.headers["RateLimit-Remaining"] == "0"


async def test_charge_over_the_day_is_refused(store: KeyStore) -> None:
    meter, key = meter_over(store), await new_key(store, chars_per_day=100)
    await meter.charge(key, 60)
    with pytest.raises(RateLimitedError, match="has 40 left"):
        await meter.charge(key, 41)
    with pytest.raises(TooLargeError, match="101 characters"):
        await meter.charge(key, 101)
    assert (await meter.usage(key)).chars == 60


async def test_refund_gives_charged_characters_back(store: KeyStore) -> None:
    meter, key = meter_over(store), await new_key(store, chars_per_day=100)
    charge = await meter.charge(key, 60)
    assert (await meter.usage(key)).chars == 60
    await meter.refund(charge)
    assert (await meter.usage(key)).chars == 0


async def test_counts_are_unavailable_without_redis() -> None:
    store = KeyStore(nowhere(), PREFIX, 0.25, time.time)
    key, _ = mint(Grant(name="a"), time.time())
    with pytest.raises(KeysUnavailableError):
        await meter_over(store).count_request(key)
    await meter_over(store, serves_without_redis=True).count_request(key)
    await store.close()
