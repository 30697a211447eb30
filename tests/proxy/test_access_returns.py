"""What is counted stays counted, nobody waits for long, and who may watch: keys where something goes wrong."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

import pytest

from proxy.keys import store as key_store
from proxy.keys.authenticator import Authenticator
from proxy.keys.cached_store import AWAY_SECONDS
from proxy.redis_client import StoreUnavailableError
from tests.conftest import PREFIX, RedisAtHand
from tests.fakes import FakeReplica, replicas
from tests.proxy.proxies import RunningProxy
from tests.proxy.test_access import TOKEN, ask, guarded, new_key, usage
from tests.waiting import wait_until


@pytest.fixture
async def one() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", name="one")
    async with replicas(fake):
        yield fake


@contextmanager
def frozen(redis: RedisAtHand) -> Generator[None]:
    redis.server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        redis.server.signal(signal.SIGCONT)


async def redis_is_asked(running: RunningProxy) -> None:
    """Wait until a key that this proxy never saw is let in."""
    stranger, _ = await new_key(running)

    async def let_in() -> bool:
        return (await ask(running, stranger))[0] == 200

    await wait_until(let_in, 20 * AWAY_SECONDS, "Redis is asked again")


async def used_today(running: RunningProxy, shown: str) -> int:
    return (await usage(running, shown))["chars_per_day"]["used"]


@pytest.mark.parametrize("identical", [False, True])
async def test_60_at_once_are_20_also_where_they_ask_the_same(
    one: FakeReplica, redis: RedisAtHand, *, identical: bool
) -> None:
    async with guarded(one, redis.url) as running:
        shown, _ = await new_key(running, requests_per_minute=20)
        texts = ["the same" if identical else f"text {n}" for n in range(60)]
        answers = await asyncio.gather(*(ask(running, shown, text) for text in texts))
        assert Counter(status for status, _, _ in answers) == {200: 20, 429: 40}
        assert (await usage(running, shown))["requests_per_minute"]["used"] == 20


@pytest.mark.parametrize("at_once", [False, True])
async def test_redis_that_comes_back_lets_nobody_have_their_limit_again(
    one: FakeReplica, own_redis: RedisAtHand, *, at_once: bool
) -> None:
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
        await redis_is_asked(running)
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


async def test_what_redis_never_counted_is_not_taken_off_there(one: FakeReplica, own_redis: RedisAtHand) -> None:
    async with guarded(one, own_redis.url, redis_timeout=0.5) as running:
        shown, _ = await new_key(running, chars_per_day=100)
        assert (await ask(running, shown, "x" * 80))[0] == 200
        authenticator: Authenticator = running.context.keys.authenticator

        async def fails() -> None:  # frozen() thaws a second time, which does no harm
            with frozen(own_redis):
                authentication = await authenticator.authenticate(f"Bearer {shown}", lambda _: None, lambda _: None)
                # It entered in vain, so the charge asks nothing of Redis, which could still do it when it thaws.
                async with authenticator.meter.charging(authentication.key, 10, lambda _: None):
                    own_redis.server.signal(signal.SIGCONT)
                    await redis_is_asked(running)
                    raise RuntimeError("not served")

        with pytest.raises(RuntimeError, match="not served"):
            await fails()
        assert await used_today(running, shown) == 80


async def test_who_hangs_up_once_parts_were_told_pays_for_them(one: FakeReplica, redis: RedisAtHand) -> None:
    one.translate.breaks_after, one.translate.breaks_with = 2, "hang"
    body = {"text": "x" * 90, "source_lang": "en", "target_lang": "de"}
    async with guarded(one, redis.url) as running:
        shown, _ = await new_key(running, chars_per_day=100)
        headers = {"Authorization": f"Bearer {shown}", "Accept": "text/event-stream"}
        async with running.client.stream("POST", "/translate", json=body, headers=headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("data:") and "text" in json.loads(line[5:]):
                    break
        await wait_until(lambda: running.context.process.body_budget.reserved == 0, 5, "the request has ended")
        assert await used_today(running, shown) == 90
        assert (await ask(running, shown, "x" * 90))[0] == 429


async def test_where_keys_are_on_only_operators_watch_the_fleet(one: FakeReplica, redis: RedisAtHand) -> None:
    async with guarded(one, redis.url) as running:
        shown, _ = await new_key(running)
        operator, _ = await new_key(running, scopes=["operate"])
        for path in ("/fleet", "/metrics"):
            answers = [
                await running.client.get(path, headers={} if key is None else {"Authorization": f"Bearer {key}"})
                for key in (None, shown, f"{TOKEN}x", operator, TOKEN)
            ]
            assert [each.status_code for each in answers] == [401, 403, 403, 200, 200]
        described = (await running.client.get("/openapi.json")).json()["paths"]
        assert described["/fleet"]["get"]["security"] == [{"operator": []}, {}]


async def test_a_slow_redis_keeps_nobody_waiting_longer_than_its_time_out_or_the_clients(
    one: FakeReplica, redis: RedisAtHand, monkeypatch: pytest.MonkeyPatch
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


async def test_who_gets_no_turn_in_time_goes_on_without(redis: RedisAtHand, monkeypatch: pytest.MonkeyPatch) -> None:
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
