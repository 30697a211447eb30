"""``python -m proxy`` as operators run it: it serves, drains, and leaves with 0; or is killed."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import proxy
from tests.proxy.proxy_process import exit_code_of, proxy_process, readiness
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


async def test_sigterm_drains_releases_lease_and_exits_with_0(tmp_path: Path, redis: RedisServer) -> None:
    one = FakeReplica("en>de")
    async with replicas(one), proxy_process(tmp_path, redis, one, drain_seconds="4") as (server, client):

        async def draining() -> bool:
            return await readiness(client) == 503

        async def closed() -> bool:
            return await readiness(client) == 0

        assert redis.client.exists(f"{PREFIX}prober")
        server.signal(signal.SIGTERM)
        await wait_until(draining, 3, "readiness fails")
        sent = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
        assert (await client.post("/translate", json=sent)).status_code == 200
        await wait_until(closed, 8, "the socket closes")
        assert await exit_code_of(server) == 0
        assert not redis.client.exists(f"{PREFIX}prober")
        assert "Traceback" not in server.tail(100)


async def test_stopping_proxy_finishes_long_requests(tmp_path: Path, redis: RedisServer) -> None:
    one = FakeReplica("en>de")
    one.translate.delay = 3
    times = {"request_timeout": "1", "seconds_per_1000_chars": "20", "drain_seconds": "0"}
    async with replicas(one), proxy_process(tmp_path, redis, one, **times) as (server, client):
        sent = {"text": "A sentence. " * 170, "source_lang": "en", "target_lang": "de"}
        asked = asyncio.create_task(client.post("/translate", json=sent))
        await wait_until(lambda: one.texts_in_hand == 1, 5, "in flight")
        server.signal(signal.SIGTERM)
        assert (await asked).status_code == 200
        assert await exit_code_of(server) == 0


async def test_killed_leader_is_replaced_within_3_s(tmp_path: Path, redis: RedisServer) -> None:
    one = FakeReplica("en>de")
    async with replicas(one), proxy_process(tmp_path, redis, one) as (server, client):
        assert (await client.get("/health")).json()["prober"] is True
        async with proxy([one], redis.url) as other:

            async def leads() -> bool:
                assert (await other.translate("Hello"))[0] == 200
                return other.context.fleet.registry.is_leader

            server.kill()
            await wait_until(leads, 3, "taken over")
            one.state = "draining"
            await other.sees(one, "draining")
