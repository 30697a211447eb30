"""Metering over a real Redis: what is charged, refused and refunded."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from proxy.keys.api_key import ApiKey, Grant, mint
from proxy.keys.quota import KeyMeter
from proxy.keys.store import CachedKeyStore, KeyStore
from proxy.keys.usage import DAY_SECONDS
from proxy.keys.usage_recorder import UsageRecorder
from proxy.metrics import ProxyMetrics
from shared.protocol.errors import KeyRefusedError, KeysUnavailableError, RateLimitedError, TooLargeError
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import nowhere
from tests.support.clock import HandClock

# Twelve hours and 30.25 seconds before the end of 2027.
NOON = 1_830_297_600 - DAY_SECONDS / 2 - 30.25


class Metered:
    """A meter with its store, clock and metrics."""

    def __init__(self, url: str, *, serves_without_redis: bool = False) -> None:
        self.clock = HandClock()
        self.clock.now = NOON
        self.store = KeyStore(url, PREFIX, 5.0, self.clock)
        self.metrics = ProxyMetrics()
        cached = CachedKeyStore(self.store, time.monotonic, serves_without_redis=serves_without_redis)
        self.recorder = UsageRecorder(self.store.usage, "proxy", self.clock, time.monotonic)
        self.meter = KeyMeter(cached, self.metrics, self.recorder)

    async def new_key(self, **granted: Any) -> ApiKey:
        key, _ = mint(Grant(name="a", **granted), 0.0)
        await self.store.add(key)
        return key

    async def used(self, key: ApiKey) -> tuple[int, ...]:
        return tuple(window.used for window in (await self.meter.usage(key)).windows)

    def refusals(self, reason: str) -> float | None:
        return self.metrics.registry.get_sample_value("pairway_proxy_access_refusals_total", {"reason": reason})


@pytest.fixture
async def metered(redis: RedisServer) -> AsyncGenerator[Metered]:
    one = Metered(redis.url)
    yield one
    await one.meter.close()
    await one.store.close()


async def test_request_over_the_limit_is_refused_with_headers(metered: Metered) -> None:
    meter, key = metered.meter, await metered.new_key(requests_per_minute=1)
    assert (await meter.count_request(key))["RateLimit-Remaining"] == "0"
    with pytest.raises(RateLimitedError, match="1 requests a minute") as caught:
        await meter.count_request(key)
    error = caught.value
    assert (error.retry_after, error.log_fields) == (30.25, {"key": key.id})
    assert (error.headers["RateLimit-Remaining"], error.headers["RateLimit-Reset"]) == ("0", "31")
    assert metered.refusals("requests") == 1


@pytest.mark.parametrize("window", ["day", "month"])
async def test_charge_over_a_limit_is_refused(metered: Metered, window: str) -> None:
    meter, key = metered.meter, await metered.new_key(**{f"chars_per_{window}": 100})
    await meter.charge(key, 60)
    with pytest.raises(RateLimitedError, match=rf"a {window} \(UTC\) and has 40 left, too few for 41") as caught:
        await meter.charge(key, 41)
    assert caught.value.retry_after == DAY_SECONDS / 2 + 30.25
    assert caught.value.headers["RateLimit-Remaining"] == "40"
    with pytest.raises(TooLargeError, match=f"101 characters, and this key may translate 100 a {window}"):
        await meter.charge(key, 101)
    assert await metered.used(key) == (0, 60, 60)
    assert metered.refusals("characters") == 2


async def test_charge_shows_the_exceeded_limit_in_its_headers(metered: Metered) -> None:
    meter, key = metered.meter, await metered.new_key(requests_per_minute=9, chars_per_day=100)
    assert (await meter.charge(key, 60)).headers["RateLimit-Limit"] == "9"
    with pytest.raises(RateLimitedError) as caught:
        await meter.charge(key, 60)
    assert (caught.value.headers["RateLimit-Limit"], caught.value.headers["RateLimit-Remaining"]) == ("100", "40")


async def test_refund_gives_charged_characters_back(metered: Metered) -> None:
    meter, key = metered.meter, await metered.new_key(chars_per_day=100, chars_per_month=200)
    metered.clock.now -= DAY_SECONDS
    charge = await meter.charge(key, 60)
    assert await metered.used(key) == (0, 60, 60)
    metered.clock.now += DAY_SECONDS
    other = await meter.charge(key, 50)
    await meter.refund(charge)
    assert await metered.used(key) == (0, 50, 50), "to the day that was charged, and the month"
    await meter.refund(other)
    assert await metered.used(key) == (0, 0, 0)


async def test_revoked_key_is_refused_at_once(metered: Metered) -> None:
    key = await metered.new_key()
    await metered.store.revoke(key.id)
    with pytest.raises(KeyRefusedError) as caught:
        await metered.meter.charge(key, 1)
    assert (caught.value.log_fields, metered.refusals("key")) == ({"key": key.id}, 1)


async def test_closed_meter_refuses_without_redis() -> None:
    metered, key = Metered(nowhere()), mint(Grant(name="a"), 0.0)[0]
    for refused in (metered.meter.count_request(key), metered.meter.charge(key, 1), metered.meter.usage(key)):
        with pytest.raises(KeysUnavailableError):
            await refused
    assert metered.refusals("unavailable") == 3
    await metered.store.close()


async def test_open_meter_lets_keys_pass_uncounted_without_redis() -> None:
    metered = Metered(nowhere(), serves_without_redis=True)
    key = mint(Grant(name="a", requests_per_minute=1, chars_per_day=5), 0.0)[0]
    for _ in range(3):
        assert await metered.meter.count_request(key) == {}
        charge = await metered.meter.charge(key, 5)
        assert (charge.headers, charge.counters) == ({}, ())
        await metered.meter.refund(charge)
    with pytest.raises(TooLargeError):
        await metered.meter.charge(key, 6)
    with pytest.raises(KeysUnavailableError):
        await metered.meter.usage(key)
    await metered.store.close()
