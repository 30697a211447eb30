"""Metering over a real Redis: what is charged, refused and refunded."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
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


def ignore(_headers: Mapping[str, str]) -> None:
    """Take headers that no answer needs."""


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
    headers: dict[str, str] = {}
    await meter.count_request(key, headers.update)
    assert headers["RateLimit-Remaining"] == "0"
    with pytest.raises(RateLimitedError):
        await meter.count_request(key, headers.update)


async def test_charge_over_the_day_is_refused(store: KeyStore) -> None:
    meter, key = meter_over(store), await new_key(store, chars_per_day=100)
    await meter.charge(key, 60, ignore)
    with pytest.raises(RateLimitedError, match="has 40 left"):
        await meter.charge(key, 41, ignore)
    with pytest.raises(TooLargeError, match="101 characters"):
        await meter.charge(key, 101, ignore)
    assert (await meter.usage(key)).chars == 60


@pytest.mark.parametrize(("sent", "used"), [(False, 0), (True, 60)])
async def test_failed_request_is_refunded_unless_a_part_was_sent(store: KeyStore, *, sent: bool, used: int) -> None:
    meter, key = meter_over(store), await new_key(store, chars_per_day=100)
    parts: list[str] = []

    async def fails() -> None:
        async with meter.charging(key, 60, ignore) as charge:
            on_delta = charge.watch(lambda _, text: parts.append(text))
            assert on_delta is not None
            on_delta(0, "part" if sent else "")
            raise RuntimeError("not served")

    with pytest.raises(RuntimeError, match="not served"):
        await fails()
    await meter.close()
    assert (await meter.usage(key)).chars == used
    assert parts == ["part" if sent else ""]


async def test_served_request_stays_charged(store: KeyStore) -> None:
    meter, key = meter_over(store), await new_key(store, chars_per_day=100)
    async with meter.charging(key, 60, ignore) as charge:
        assert charge.watch(None) is None
    assert (await meter.usage(key)).chars == 60


async def test_request_without_key_is_charged_to_nobody(store: KeyStore) -> None:
    async with meter_over(store).charging(None, 60, ignore):
        pass


async def test_counts_are_unavailable_without_redis() -> None:
    store = KeyStore(nowhere(), PREFIX, 0.25, time.time)
    key, _ = mint(Grant(name="a"), time.time())
    with pytest.raises(KeysUnavailableError):
        await meter_over(store).count_request(key, ignore)
    await meter_over(store, serves_without_redis=True).count_request(key, ignore)
    await store.close()
