"""Requests that wait for a transient fault to pass, on the real proxy: their callers see none of it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncGenerator
from typing import Any, Final

import httpx
import pytest

from proxy.cache import coalescing
from proxy.keys.usage import DAY_SECONDS
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import PATIENT, new_key, used_today
from tests.proxy.proxies import RunningProxy, proxy
from tests.proxy.waits import set_waits
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.waiting import wait_until

# No test waits so long.
BUDGET: Final = 3600.0
CLOSED: Final[dict[str, Any]] = {"keys_without_redis": "closed"}
REFUSES: Final = Script(problem=(503, "overloaded"), retry_after=30)


@pytest.fixture(autouse=True)
def _patient_api(monkeypatch: pytest.MonkeyPatch) -> None:
    set_waits(monkeypatch, queue_seconds=BUDGET)


@pytest.fixture
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", name="one")
    async with replicas(one):
        yield one


def send(running: RunningProxy, text: str = "Hello", **more: str) -> asyncio.Task[httpx.Response]:
    body = {"q": text, "source": "en", "target": "de", **more}
    return asyncio.create_task(running.client.post("/libretranslate/translate", json=body))


def waiting(running: RunningProxy) -> int:
    return running.context.translation.fault_retry.waiting


def waits(running: RunningProxy, outcome: str) -> float | None:
    registry = running.context.process.metrics.registry
    return registry.get_sample_value("pairway_proxy_waits_total", {"outcome": outcome})


async def succeeds(running: RunningProxy, task: asyncio.Task[httpx.Response]) -> None:
    answer = await task
    assert (answer.status_code, answer.json()) == (200, {"translatedText": "[en>de by one] Hello"})
    assert (waiting(running), waits(running, "ok")) == (0, 1)


async def test_caller_sees_nothing_of_an_overload(fake: FakeReplica) -> None:
    fake.translate = REFUSES
    async with proxy([fake]) as running:
        task = send(running)
        await wait_until(lambda: len(fake.requests) >= 2, 20, "the replica refused twice")
        assert (waiting(running), task.done()) == (1, False)
        fake.translate = Script()
        await succeeds(running, task)


async def test_caller_sees_nothing_of_a_pair_that_is_not_ready(fake: FakeReplica) -> None:
    async with proxy([fake]) as running:
        fake.pairs["en>de"] = False
        await running.sweeps()
        task = send(running)
        await wait_until(lambda: waiting(running) == 1, 10)
        fake.pairs["en>de"] = True
        await succeeds(running, task)


async def test_caller_sees_nothing_of_a_replica_that_restarts(fake: FakeReplica) -> None:
    async with proxy([fake]) as running:
        await fake.stop()
        task = send(running)
        await wait_until(lambda: waiting(running) == 1, 10)
        await fake.start()
        await succeeds(running, task)


async def test_caller_sees_nothing_of_a_redis_that_pauses(fake: FakeReplica, own_redis: RedisServer) -> None:
    async with proxy([fake], own_redis.url, **PATIENT, **CLOSED) as running:
        shown, _ = await new_key(running)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(running.context.keys.store.redis, "_timeout", 0.5)
            own_redis.server.signal(signal.SIGSTOP)
            try:
                task = send(running, api_key=shown)
                await wait_until(lambda: waiting(running) == 1, 20)
            finally:
                own_redis.server.signal(signal.SIGCONT)
        await wait_until(task.done, 20)
        assert (await task).status_code == 200
        assert await used_today(running, shown) == len("Hello")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/kiss", {"text": "Hello", "from": "en", "to": "de"}),
        ("/deeplx/translate", {"text": "Hello", "source_lang": "EN", "target_lang": "DE"}),
        ("/v2/translate", {"text": ["Hello"], "source_lang": "EN", "target_lang": "DE"}),
    ],
)
async def test_check_of_a_key_in_the_head_is_waited_for(
    fake: FakeReplica, own_redis: RedisServer, path: str, body: dict[str, Any]
) -> None:
    async with proxy([fake], own_redis.url, **PATIENT, **CLOSED) as running:
        shown, _ = await new_key(running)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(running.context.keys.store.redis, "_timeout", 0.5)
            own_redis.server.signal(signal.SIGSTOP)
            try:
                headers = {"Authorization": f"Bearer {shown}"}
                task = asyncio.create_task(running.client.post(path, json=body, headers=headers))
                await wait_until(lambda: waiting(running) == 1, 20)
            finally:
                own_redis.server.signal(signal.SIGCONT)
        assert (await task).status_code == 200


async def test_request_that_waited_is_charged_once(fake: FakeReplica, redis: RedisServer) -> None:
    fake.translate = REFUSES
    async with proxy([fake], redis.url, **PATIENT) as running:
        shown, _ = await new_key(running, requests_per_minute=1)
        task = send(running, api_key=shown)
        await wait_until(lambda: len(fake.requests) >= 2, 20)
        fake.translate = Script()
        await succeeds(running, task)
        assert await used_today(running, shown) == len("Hello")


async def test_client_that_leaves_waits_no_longer(fake: FakeReplica, redis: RedisServer) -> None:
    fake.translate = REFUSES
    async with proxy([fake], redis.url, **PATIENT) as running:
        shown, _ = await new_key(running)
        task = send(running, api_key=shown)
        await wait_until(lambda: waiting(running) == 1, 10)
        task.cancel()
        await wait_until(lambda: running.context.process.metrics.in_flight == 0, 10)
        assert (waiting(running), waits(running, "failed")) == (0, 1)
        assert await used_today(running, shown) == 0


async def test_abandoned_request_is_not_tried_again(fake: FakeReplica, monkeypatch: pytest.MonkeyPatch) -> None:
    set_waits(monkeypatch, queue_seconds=BUDGET, linger_seconds=BUDGET)
    monkeypatch.setattr(coalescing, "SHORTEST_TIMEOUT_SECONDS", 0.0)
    released = asyncio.Event()
    fake.translate = Script(released=released, problem=(503, "overloaded"), retry_after=30)
    async with proxy([fake]) as running:
        connections = running.serving.connections
        task = send(running)
        await wait_until(lambda: fake.requests, 10)
        task.cancel()
        await wait_until(lambda: running.serving.connections <= connections, 10, "the client has gone")
        assert len(running.context.translation.coalescer) == 1
        released.set()
        await wait_until(lambda: running.context.process.metrics.in_flight == 0, 10)
        assert (len(fake.requests), waiting(running)) == (1, 0)


async def test_lasting_fault_is_answered_at_once(fake: FakeReplica, redis: RedisServer) -> None:
    async with proxy([fake], redis.url, **PATIENT) as running:
        running.context.keys.store.clock = lambda: time.time() // DAY_SECONDS * DAY_SECONDS + DAY_SECONDS / 2
        shown, _ = await new_key(running, chars_per_day=10)
        answers = [await send(running, text, api_key=shown) for text in ("Hello", "Hello!", "Hello again")]
        answers += [await send(running, api_key="wrong"), await send(running, api_key=shown, target="xx")]
        assert [answer.status_code for answer in answers] == [200, 403, 400, 403, 400]
        assert (waits(running, "ok"), waits(running, "failed")) == (0, 0)
