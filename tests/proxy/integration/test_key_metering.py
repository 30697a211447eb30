"""What keys are charged, who may watch, and how keys are switched on."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.conftest import PREFIX, RedisServer
from tests.proxy.integration.keyed_proxies import (
    NOBODY,
    OPERATOR,
    PATIENT,
    TOKEN,
    ask,
    guarded,
    new_key,
    stop_clock,
    usage,
    used_today,
)
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import ROOT
from tests.support.waiting import wait_until


@pytest.fixture
async def one() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", name="one")
    async with replicas(fake):
        yield fake


@pytest.mark.parametrize("identical", [False, True])
async def test_request_limit_is_exact_for_concurrent_requests(
    one: FakeReplica, redis: RedisServer, *, identical: bool
) -> None:
    async with guarded(one, redis.url) as running:
        stop_clock(running)
        shown, _ = await new_key(running, requests_per_minute=20)
        texts = ["the same" if identical else f"text {n}" for n in range(60)]
        answers = await asyncio.gather(*(ask(running, shown, text) for text in texts))
        assert Counter(status for status, _, _ in answers) == {200: 20, 429: 40}
        assert (await usage(running, shown))["requests_per_minute"]["used"] == 20


async def test_disconnect_after_first_part_is_charged(one: FakeReplica, redis: RedisServer) -> None:
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


async def test_fleet_and_metrics_need_an_operator_where_keys_are_on(one: FakeReplica, redis: RedisServer) -> None:
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
        assert described["/fleet"]["get"]["security"] == [{"observer": []}, {}]


async def test_alternatives_are_charged_as_often(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as running:
        shown, _ = await new_key(running, chars_per_day=100)
        body = {"text": "x" * 20, "source_lang": "en", "target_lang": "de", "alternatives": 3}
        headers = {"Authorization": f"Bearer {shown}"}
        first = await running.client.post("/translate", json=body, headers=headers)
        assert (first.status_code, await used_today(running, shown)) == (200, 80)
        assert (await running.client.post("/translate", json=body, headers=headers)).status_code == 429
        one.translate.problem = (422, "invalid-request")
        refused = await running.client.post("/translate", json={**body, "text": "x", "context": "y"}, headers=headers)
        assert (refused.status_code, await used_today(running, shown)) == (422, 80)


OFF: dict[str, Any] = {**PATIENT, "keys": "off"}


async def created_by_command(redis: RedisServer) -> str:
    """Create a key as an operator does beside a running proxy; return the key."""
    settings = {"PROXY_REDIS_URL": redis.url, "PROXY_REDIS_PREFIX": PREFIX, "PROXY_KEYS": "off"}
    command = [sys.executable, "-m", "proxy", "keys", "create", "--name", "bob"]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env={**os.environ, **settings}, stdout=asyncio.subprocess.PIPE
    )
    shown, _ = await process.communicate()
    assert process.returncode == 0
    return shown.decode().strip()


async def test_keys_created_while_off_work_once_on(redis: RedisServer) -> None:
    fake = FakeReplica("en>de")
    statuses: Counter[int] = Counter()
    async with replicas(fake), proxy([fake], redis.url, **OFF) as off_1, proxy([fake], redis.url, **OFF) as off_2:
        response = await off_1.client.post("/keys", json={"name": "alice"}, headers=OPERATOR)
        assert response.status_code == 201, "keys can be created while they are off"
        shown = [response.json()["key"], await created_by_command(redis)]
        balanced: list[RunningProxy] = [off_1, off_2]
        going = True

        async def client(key: str) -> None:
            while going:
                for one in tuple(balanced):
                    statuses[(await ask(one, key))[0]] += 1

        async def more() -> None:
            before = statuses.total()
            await wait_until(lambda: statuses.total() >= before + 20, 20)

        clients = [asyncio.create_task(client(key)) for key in shown]
        await more()
        async with proxy([fake], redis.url, **PATIENT) as on_1, proxy([fake], redis.url, **PATIENT) as on_2:
            balanced[0] = on_1
            await more()
            balanced[1] = on_2
            await more()
            going = False
            await asyncio.gather(*clients)
            assert (await on_1.translate("Hello"))[0] == 401
            assert (await off_1.translate("Hello"))[0] == 200
    assert statuses.keys() == {200}


@pytest.mark.parametrize("shown", ["Bearer", "Bearer x", "Basic eDp5", f"Bearer pw_{'0' * 12}_{'a' * 32}", "é" * 90])
async def test_proxy_without_keys_ignores_any_authorization(shown: str) -> None:
    async with fleet_of("en>de", keys="off", replica_token="the-token-of-replicas") as (running, fake):
        body = b'{"text": "Hello", "source_lang": "en", "target_lang": "de"}'
        headers = [(b"Authorization", shown.encode()), (b"Content-Type", b"application/json")]
        assert (await running.client.post("/translate", content=body, headers=headers)).status_code == 200
        assert fake.requests[-1].headers["authorization"] == "Bearer the-token-of-replicas"
        assert (await running.client.get("/languages", headers=headers)).status_code == 200


async def test_key_is_created_while_every_replica_is_away(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, keys="off", operator_token=TOKEN, redis_timeout=5.0) as running:
        response = await running.client.post("/keys", json={"name": "a", "pairs": ["en-de"]}, headers=OPERATOR)
        assert (response.status_code, response.json()["warnings"]) == (201, [])
