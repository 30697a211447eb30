"""``python -m proxy`` as operators run it: it serves, drains, gives its lease back and leaves with 0."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx

from tests.conftest import PREFIX, RedisAtHand
from tests.fakes import FakeReplica, replicas
from tests.processes import free_port, python_server
from tests.waiting import wait_until


async def test_a_proxy_that_is_told_to_stop_drains_gives_its_lease_back_and_leaves_with_0(
    tmp_path: Path, redis: RedisAtHand
) -> None:
    one, port = FakeReplica("en>de"), free_port()
    async with replicas(one):
        environment = {
            "PROXY_PORT": str(port),
            "PROXY_REPLICAS": one.url,
            "PROXY_REDIS_URL": redis.url,
            "PROXY_REDIS_PREFIX": PREFIX,
            "PROXY_PROBE_INTERVAL": "0.2",
            "PROXY_DRAIN_SECONDS": "1",
        }
        server = python_server("proxy", tmp_path, environment, "proxy")
        server.start()
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:

                async def readiness() -> int:
                    try:
                        return (await client.get("/readyz")).status_code
                    except httpx.TransportError:
                        return 0

                async def ready() -> bool:
                    return await readiness() == 200

                async def draining() -> bool:
                    return await readiness() == 503

                async def closed() -> bool:
                    return await readiness() == 0

                await wait_until(ready, 20, "the proxy is ready")
                assert redis.client.exists(f"{PREFIX}prober")
                server.signal(signal.SIGTERM)
                await wait_until(draining, 0.8, "readiness fails")
                sent = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
                assert (await client.post("/translate", json=sent)).status_code == 200
                await wait_until(closed, 4, "the socket closes")
            assert server.process is not None
            assert server.process.wait(10) == 0
            assert not redis.client.exists(f"{PREFIX}prober")
            assert "Traceback" not in server.tail(100)
        finally:
            server.stop()


async def test_a_request_longer_than_the_base_time_is_answered_by_a_proxy_that_stops(
    tmp_path: Path, redis: RedisAtHand
) -> None:
    one, port = FakeReplica("en>de"), free_port()
    one.translate.delay = 3
    async with replicas(one):
        environment = {
            "PROXY_PORT": str(port),
            "PROXY_REPLICAS": one.url,
            "PROXY_REDIS_URL": redis.url,
            "PROXY_REDIS_PREFIX": PREFIX,
            "PROXY_REQUEST_TIMEOUT": "1",
            "PROXY_SECONDS_PER_1000_CHARS": "20",
            "PROXY_DRAIN_SECONDS": "0",
        }
        server = python_server("proxy", tmp_path, environment, "proxy")
        server.start()
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as client:

                async def ready() -> bool:
                    try:
                        return (await client.get("/readyz")).status_code == 200
                    except httpx.TransportError:
                        return False

                await wait_until(ready, 20, "the proxy is ready")
                sent = {"text": "A sentence. " * 170, "source_lang": "en", "target_lang": "de"}
                asked = asyncio.create_task(client.post("/translate", json=sent))
                await wait_until(lambda: one.texts_in_hand == 1, 5, "in flight")
                server.signal(signal.SIGTERM)
                assert (await asked).status_code == 200
            assert server.process is not None
            assert await asyncio.to_thread(server.process.wait, 10) == 0
        finally:
            server.stop()
