"""Keys are created first and switched on second: no request fails on the way."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from typing import Any

import pytest

from tests.conftest import PREFIX, RedisServer
from tests.proxy.integration.keyed_proxies import NOBODY, OPERATOR, PATIENT, TOKEN, ask
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import ROOT
from tests.support.waiting import wait_until

OFF: dict[str, Any] = {**PATIENT, "keys": "off"}


async def created_by_command(redis: RedisServer) -> str:
    """Create a key as an operator does beside a running proxy; return the key."""
    settings = {"PROXY_REDIS_URL": redis.url, "PROXY_REDIS_PREFIX": PREFIX, "PROXY_KEYS": "off"}
    command = [sys.executable, "-m", "proxy.keys", "create", "--name", "bob"]
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
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], keys="off", replica_token="the-token-of-replicas") as running:
        body = b'{"text": "Hello", "source_lang": "en", "target_lang": "de"}'
        headers = [(b"Authorization", shown.encode()), (b"Content-Type", b"application/json")]
        assert (await running.client.post("/translate", content=body, headers=headers)).status_code == 200
        assert fake.requests[-1].headers["authorization"] == "Bearer the-token-of-replicas"
        assert (await running.client.get("/languages", headers=headers)).status_code == 200


async def test_key_is_created_while_every_replica_is_away(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, keys="off", operator_token=TOKEN, redis_timeout=5.0) as running:
        response = await running.client.post("/keys", json={"name": "a", "pairs": ["en-de"]}, headers=OPERATOR)
        assert (response.status_code, response.json()["warnings"]) == (201, [])
