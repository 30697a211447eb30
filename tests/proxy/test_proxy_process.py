"""``python -m proxy`` as operators run it: it serves, drains, gives its lease back and leaves with 0; or is killed."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.conftest import PREFIX, RedisAtHand
from tests.fakes import FakeReplica, replicas
from tests.processes import Server, free_port, python_server
from tests.proxy.proxies import proxy
from tests.waiting import wait_until


async def readiness(client: httpx.AsyncClient) -> int:
    """Return the status, 0 where nobody listens."""
    try:
        return (await client.get("/readyz")).status_code
    except httpx.TransportError:
        return 0


@asynccontextmanager
async def proxy_process(
    folder: Path, redis: RedisAtHand, *fakes: FakeReplica, **settings: str
) -> AsyncGenerator[tuple[Server, httpx.AsyncClient]]:
    port = free_port()
    environment = {
        "PROXY_PORT": str(port),
        "PROXY_REPLICAS": ",".join(fake.url for fake in fakes),
        "PROXY_REDIS_URL": redis.url,
        "PROXY_REDIS_PREFIX": PREFIX,
        "PROXY_PROBE_INTERVAL": "0.2",
        **{f"PROXY_{name.upper()}": value for name, value in settings.items()},
    }
    server = python_server("proxy", folder, environment, "proxy")
    server.start()
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as client:

            async def ready() -> bool:
                return await readiness(client) == 200

            await wait_until(ready, 20, "the proxy is ready")
            yield server, client
    finally:
        server.stop()


async def left_with(server: Server) -> int:
    assert server.process is not None
    return await asyncio.to_thread(server.process.wait, 10)


async def test_a_proxy_that_is_told_to_stop_drains_gives_its_lease_back_and_leaves_with_0(
    tmp_path: Path, redis: RedisAtHand
) -> None:
    one = FakeReplica("en>de")
    async with replicas(one), proxy_process(tmp_path, redis, one, drain_seconds="1") as (server, client):

        async def draining() -> bool:
            return await readiness(client) == 503

        async def closed() -> bool:
            return await readiness(client) == 0

        assert redis.client.exists(f"{PREFIX}prober")
        server.signal(signal.SIGTERM)
        await wait_until(draining, 0.8, "readiness fails")
        sent = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
        assert (await client.post("/translate", json=sent)).status_code == 200
        await wait_until(closed, 4, "the socket closes")
        assert await left_with(server) == 0
        assert not redis.client.exists(f"{PREFIX}prober")
        assert "Traceback" not in server.tail(100)


async def test_a_request_longer_than_the_base_time_is_answered_by_a_proxy_that_stops(
    tmp_path: Path, redis: RedisAtHand
) -> None:
    one = FakeReplica("en>de")
    one.translate.delay = 3
    times = {"request_timeout": "1", "seconds_per_1000_chars": "20", "drain_seconds": "0"}
    async with replicas(one), proxy_process(tmp_path, redis, one, **times) as (server, client):
        sent = {"text": "A sentence. " * 170, "source_lang": "en", "target_lang": "de"}
        asked = asyncio.create_task(client.post("/translate", json=sent))
        await wait_until(lambda: one.texts_in_hand == 1, 5, "in flight")
        server.signal(signal.SIGTERM)
        assert (await asked).status_code == 200
        assert await left_with(server) == 0


async def test_a_prober_that_is_killed_is_followed_within_3_s_and_nobody_notices(
    tmp_path: Path, redis: RedisAtHand
) -> None:
    one = FakeReplica("en>de")
    async with replicas(one), proxy_process(tmp_path, redis, one) as (server, client):
        assert (await client.get("/health")).json()["prober"] is True
        async with proxy([one], redis.url) as other:
            server.kill()
            killed = time.monotonic()
            while not other.parts.registry.leading:
                assert (await other.translate("Hello"))[0] == 200
                assert time.monotonic() - killed < 3, "taken over"
            one.state = "draining"
            await other.sees(one, "draining")
