"""Keys while Redis is away, frozen or slow."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from proxy.keys.api_key import Grant, mint
from proxy.keys.authenticator import Authenticator
from proxy.storage.connection import StoreUnavailableError
from proxy.storage.recent_copies import AWAY_SECONDS
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import (
    OPERATOR,
    ask,
    guarded,
    new_key,
    stop_clock,
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


@contextmanager
def frozen(redis: RedisServer, running: RunningProxy) -> Generator[None]:
    """Freeze Redis, for whose answers to keys the proxy waits for a moment only, while it is frozen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running.context.keys.store.redis, "_timeout", 0.5)
        redis.server.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            redis.server.signal(signal.SIGCONT)


async def test_known_keys_pass_uncounted_while_redis_is_away(one: FakeReplica, own_redis: RedisServer) -> None:
    async with guarded(one, own_redis.url) as running:
        stop_clock(running)
        shown, _ = await new_key(running, requests_per_minute=20, chars_per_day=200)
        stranger, _ = await new_key(running)
        assert Counter([(await ask(running, shown))[0] for _ in range(10)]) == {200: 10}
        pending = asyncio.gather(*(ask(running, shown) for _ in range(30)))
        await asyncio.sleep(0)
        own_redis.server.kill()
        assert {status for status, _, _ in await pending} <= {200, 429}, "some were counted before"
        answers = [await ask(running, shown) for _ in range(30)]
        assert Counter(status for status, _, _ in answers) == {200: 30}
        assert not [name for name in answers[0][2] if name.startswith("ratelimit")], "nothing is known of its limits"
        status, problem, headers = await ask(running, stranger)
        assert (status, problem["code"], headers["Retry-After"]) == (503, "keys-unavailable", "1")
        wrong = shown[:-1] + ("a" if shown[-1] != "a" else "b")
        assert (await ask(running, wrong))[0] == 403
        response = await running.client.get("/usage", headers={"Authorization": f"Bearer {shown}"})
        assert (response.status_code, response.json()["code"]) == (503, "keys-unavailable")
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
    async with guarded(one, own_redis.url) as running:
        shown, _ = await new_key(running)
        assert (await ask(running, shown))[0] == 200
        store = running.context.keys.store
        asked: list[str] = []

        def counted(call: Any) -> Any:
            def counting(*arguments: Any, **named: Any) -> Any:
                asked.append(call.__name__)
                return call(*arguments, **named)

            return counting

        monkeypatch.setattr(store, "read", counted(store.read))
        monkeypatch.setattr(store, "count", counted(store.count))
        begun = time.monotonic()
        with frozen(own_redis, running):
            statuses = Counter([(await ask(running, shown))[0] for _ in range(30)])
        assert statuses == {200: 30}
        assert 0 < len(asked) <= (time.monotonic() - begun) / AWAY_SECONDS + 1


async def test_closed_mode_refuses_all_without_redis(one: FakeReplica, own_redis: RedisServer) -> None:
    async with guarded(one, own_redis.url, keys_without_redis="closed") as running:
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
    assert "keys cannot be looked up" in caplog.text


async def until_redis_is_used(running: RunningProxy) -> None:
    """Wait until a key that this proxy never saw is let in."""
    stranger, _ = await new_key(running)

    async def let_in() -> bool:
        return (await ask(running, stranger))[0] == 200

    await wait_until(let_in, 20 * AWAY_SECONDS, "Redis is asked again")


async def test_limits_hold_again_when_redis_is_back(one: FakeReplica, own_redis: RedisServer) -> None:
    async with guarded(one, own_redis.url) as running:
        stop_clock(running)
        shown, _ = await new_key(running, requests_per_minute=5, chars_per_day=100)
        assert (await ask(running, shown, "x" * 10))[0] == 200
        with frozen(own_redis, running):
            assert [(await ask(running, shown, "x" * 50))[0] for _ in range(3)] == [200] * 3
        await until_redis_is_used(running)
        used = await usage(running, shown)
        # What waited for the frozen Redis in vain may have been counted when it thawed: one request, one charge at most.
        assert used["requests_per_minute"]["used"] in {1, 2}
        assert used["chars_per_day"]["used"] in {10, 60}
        answers = Counter([(await ask(running, shown, "x"))[0] for _ in range(6)])
        assert answers == {200: 5 - used["requests_per_minute"]["used"], 429: 1 + used["requests_per_minute"]["used"]}


@pytest.mark.parametrize(("mode", "statuses"), [("open", {200: 3}), ("closed", {503: 3})])
async def test_redis_too_full_to_count_can_still_be_read(
    one: FakeReplica, own_redis: RedisServer, mode: str, statuses: dict[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with guarded(one, own_redis.url, keys_without_redis=mode) as running:
        shown, _ = await new_key(running, requests_per_minute=1)
        stranger, _ = await new_key(running)
        own_redis.client.config_set("maxmemory", 1)
        assert Counter([(await ask(running, shown))[0] for _ in range(3)]) == statuses
        assert (await ask(running, stranger))[0] in statuses, "a key that this proxy never saw is read"
        unknown = mint(Grant(name="a"), time.time())[1]
        assert (await ask(running, unknown))[0] == 403
        own_redis.client.config_set("maxmemory", 0)

        async def counted() -> bool:
            response = await running.client.get("/usage", headers={"Authorization": f"Bearer {shown}"})
            return response.status_code == 200

        await wait_until(counted, 10, "usage can be counted again")
    own = [record for record in caplog.records if record.name == "proxy.storage.recent_copies"]
    keys = [record for record in own if "counted" in record.message]  # the others are about what is written later
    assert [record.message for record in keys] == ["usage of keys cannot be counted", "usage of keys is counted again"]
    assert "Redis refuses to write: " in str(vars(keys[0])["error"])


async def test_uncounted_charge_is_not_refunded(one: FakeReplica, own_redis: RedisServer) -> None:
    async with guarded(one, own_redis.url) as running:
        stop_clock(running)
        shown, _ = await new_key(running, chars_per_day=100)
        assert (await ask(running, shown, "x" * 80))[0] == 200
        authenticator: Authenticator = running.context.keys.authenticator
        with frozen(own_redis, running):
            authentication = await authenticator.authenticate(f"Bearer {shown}", lambda _: False)
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

        monkeypatch.setattr(store.redis, "call", slow)
        status, problem, _ = await ask(running, shown, x_timeout_ms="100")
        assert (status, problem["code"]) == (504, "deadline-exceeded")
