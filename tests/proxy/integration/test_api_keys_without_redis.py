"""Keys while Redis is away, frozen or slow."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from proxy.keys.api_key import Grant, mint
from proxy.keys.authenticator import Authenticator
from proxy.keys.cached_store import AWAY_SECONDS
from proxy.redis_client import StoreUnavailableError
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import (
    OPERATOR,
    ask,
    guarded,
    new_key,
    usage,
    used_today,
)
from tests.proxy.proxies import RunningProxy, nowhere
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


@pytest.fixture
async def one() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", "en>fr", "de>en", name="one")
    async with replicas(fake):
        yield fake


async def test_known_keys_keep_their_limits_when_redis_dies(one: FakeReplica, own_redis: RedisServer) -> None:
    async with guarded(one, own_redis.url, redis_timeout=1.0) as running:
        shown, _ = await new_key(running, requests_per_minute=20)
        stranger, _ = await new_key(running)
        assert Counter([(await ask(running, shown))[0] for _ in range(10)]) == {200: 10}
        pending = asyncio.gather(*(ask(running, shown) for _ in range(30)))
        await asyncio.sleep(0)
        own_redis.server.kill()
        statuses = Counter(status for status, _, _ in await pending)
        statuses += Counter([(await ask(running, shown))[0] for _ in range(20)])
        assert set(statuses) == {200, 429}
        assert statuses[200] == 10, "one proxy alone counts on where Redis stopped"
        status, problem, headers = await ask(running, stranger)
        assert (status, problem["code"], headers["Retry-After"]) == (503, "keys-unavailable", "1")
        wrong = shown[:-1] + ("a" if shown[-1] != "a" else "b")
        assert (await ask(running, wrong))[0] == 403
        assert (await usage(running, shown))["requests_per_minute"]["used"] == 20
        own_redis.start()
        key, again = mint(Grant(name="after"), time.time())

        async def kept() -> bool:
            try:
                await running.context.keys.store.add(key)
            except StoreUnavailableError:
                return False
            return True

        await wait_until(kept, 5, "Redis is back")

        async def let_in() -> bool:
            return (await ask(running, again))[0] == 200

        await wait_until(let_in, 5, "and asked again")


async def test_frozen_redis_refuses_no_known_key(
    one: FakeReplica, own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with guarded(one, own_redis.url, redis_timeout=0.5) as running:
        shown, _ = await new_key(running)
        assert (await ask(running, shown))[0] == 200
        store = running.context.keys.store
        asked: list[str] = []

        def counted(call: Any) -> Any:
            def counting(*arguments: Any) -> Any:
                asked.append(call.__name__)
                return call(*arguments)

            return counting

        monkeypatch.setattr(store, "read", counted(store.read))
        monkeypatch.setattr(store, "count", counted(store.count))
        own_redis.server.signal(signal.SIGSTOP)
        begun = time.monotonic()
        try:
            statuses = Counter([(await ask(running, shown))[0] for _ in range(30)])
        finally:
            own_redis.server.signal(signal.SIGCONT)
        assert statuses == {200: 30}
        assert 0 < len(asked) <= (time.monotonic() - begun) / AWAY_SECONDS + 1


async def test_closed_mode_refuses_all_without_redis(one: FakeReplica, own_redis: RedisServer) -> None:
    async with guarded(one, own_redis.url, redis_timeout=1.0, keys_without_redis="closed") as running:
        shown, _ = await new_key(running)
        assert (await ask(running, shown))[0] == 200
        own_redis.server.kill()
        for _ in range(3):
            status, problem, headers = await ask(running, shown)
            assert (status, problem["code"], headers["Retry-After"]) == (503, "keys-unavailable", "1")
        response = await running.client.get("/usage", headers={"Authorization": f"Bearer {shown}"})
        assert response.status_code == 503
        assert len(one.requests) == 1
        metrics = (await running.client.get("/metrics", headers=OPERATOR)).text
        assert 'pairway_proxy_access_refusals_total{reason="unavailable"} 4.0' in metrics


async def test_proxy_started_without_redis_refuses_and_warns(
    one: FakeReplica, caplog: pytest.LogCaptureFixture
) -> None:
    async with guarded(one, nowhere(), redis_timeout=0.25) as running:
        status, problem, _ = await ask(running, mint(Grant(name="a"), 0.0)[1])
        assert (status, problem["code"]) == (503, "keys-unavailable")
        assert (await ask(running, "nonsense"))[0] == 403, "this can never be one"
    assert "keys can not be looked up" in caplog.text


@contextmanager
def frozen(redis: RedisServer) -> Generator[None]:
    redis.server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        redis.server.signal(signal.SIGCONT)


async def until_redis_is_used(running: RunningProxy) -> None:
    """Wait until a key that this proxy never saw is let in."""
    stranger, _ = await new_key(running)

    async def let_in() -> bool:
        return (await ask(running, stranger))[0] == 200

    await wait_until(let_in, 20 * AWAY_SECONDS, "Redis is asked again")


@pytest.mark.parametrize("at_once", [False, True])
async def test_limit_holds_across_return_of_redis(one: FakeReplica, own_redis: RedisServer, *, at_once: bool) -> None:
    async with guarded(one, own_redis.url, redis_timeout=0.5) as running:
        shown, _ = await new_key(running, requests_per_minute=5)
        spender, _ = await new_key(running, chars_per_day=100)

        async def burst() -> Counter[int]:
            if at_once:
                return Counter(status for status, _, _ in await asyncio.gather(*(ask(running, shown) for _ in "x" * 8)))
            return Counter([(await ask(running, shown))[0] for _ in range(8)])

        assert (await ask(running, shown))[0] == 200
        assert (await ask(running, spender, "x" * 10))[0] == 200
        with frozen(own_redis):
            assert [(await ask(running, shown))[0] for _ in range(2)] == [200, 200]
            assert (await ask(running, spender, "x" * 50))[0] == 200
        await until_redis_is_used(running)
        assert await burst() == {200: 2, 429: 6}, "5 in all"
        status, _, headers = await ask(running, shown)
        assert (status, headers["RateLimit-Remaining"]) == (429, "0")
        assert 0 < int(headers["Retry-After"]) <= 61
        assert (await ask(running, spender, "x" * 41))[0] == 429
        assert await used_today(running, spender) >= 60
        assert (await ask(running, spender, "x" * 40))[0] == 200
        fresh, _ = await new_key(running, requests_per_minute=5)

        async def let_in() -> bool:  # a pause may be a Redis that is away, which knows nobody new
            return (await ask(running, fresh))[0] == 200

        await wait_until(let_in, 20 * AWAY_SECONDS, "it is known")
        assert [(await ask(running, fresh))[0] for _ in range(5)] == [200] * 4 + [429]


async def test_refund_of_local_charge_leaves_redis_alone(one: FakeReplica, own_redis: RedisServer) -> None:
    async with guarded(one, own_redis.url, redis_timeout=0.5) as running:
        shown, _ = await new_key(running, chars_per_day=100)
        assert (await ask(running, shown, "x" * 80))[0] == 200
        authenticator: Authenticator = running.context.keys.authenticator

        with frozen(own_redis):
            authentication = await authenticator.authenticate(f"Bearer {shown}")
            assert authentication.key is not None
            # It entered in vain, so the charge asks nothing of Redis, which could still do it when it thaws.
            charge = await authenticator.meter.charge(authentication.key, 10)
        await until_redis_is_used(running)
        await authenticator.meter.refund(charge)
        assert await used_today(running, shown) == 80


async def test_slow_redis_delays_a_request_until_its_deadline_at_most(
    one: FakeReplica, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with guarded(one, redis.url, redis_timeout=5.0) as running:
        shown, _ = await new_key(running)
        store, waits = running.context.keys.store, asyncio.Event()

        async def slow(*_: object) -> str:
            await waits.wait()
            raise AssertionError

        monkeypatch.setattr(store, "_execute", slow)
        status, problem, _ = await ask(running, shown, x_timeout_ms="100")
        assert (status, problem["code"]) == (504, "deadline-exceeded")
