"""The proxy starts, drains, and leaves with 0; or is killed."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from proxy.fleet.prober import FIRST_SWEEP_SECONDS
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import nowhere, proxy
from tests.proxy.proxy_process import exit_code_of, proxy_process, readiness
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import Awake, wait_until

pytestmark = pytest.mark.system


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


# More than a listener's queue of length 0 holds.
FILLING_CONNECTIONS = 4
REDIS_TIMEOUT = 0.25
# Calls of Redis before a proxy serves: lease, keys, and what the first sweep asks.
MAX_STARTING_CALLS = 4
# For a machine with other work.
SLACK_SECONDS = 3.0


async def test_proxy_serves_after_its_first_sweep(redis: RedisServer) -> None:
    quick, slow = FakeReplica("en>de", name="quick"), FakeReplica("en>fr", name="slow")
    slow.report.delay = 0.5
    async with replicas(quick, slow), proxy([quick, slow], redis.url, ready=False) as young:
        assert (await young.translate("Hello", target="fr"))[0] == 200, "neither 503 nor, while one had reported, 404"
        assert (await young.client.get("/readyz")).status_code == 200


async def test_proxy_serves_though_its_first_sweep_lasts() -> None:
    slow = FakeReplica("en>de", name="slow")
    slow.report.fault = "hang"
    began = time.monotonic()
    async with replicas(slow), proxy([slow], ready=False, probe_timeout=60.0) as young:
        assert time.monotonic() - began >= FIRST_SWEEP_SECONDS
        response = await young.client.get("/readyz")
        assert (response.status_code, response.json()) == (503, {"ready": False, "draining": False})
        health = await young.health()
        assert (health["status"], [each["state"] for each in health["replicas"]]) == ("down", ["starting"])
        for source in ("en", "auto"):
            status, problem, headers = await young.translate("Where is the station?", source)
            assert (status, problem["code"], headers["retry-after"]) == (503, "pair-unavailable", "1")
        slow.report.fault = None
        await slow.stop()
        await slow.start()
        await young.sees(slow, "ready")
        assert (await young.translate("Where is the station?", "auto"))[0] == 200


@contextmanager
def unanswered(*, accepting: bool) -> Generator[str]:
    """Yield the URL of a Redis that accepts connections without answers, or does not even do that."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64 if accepting else 0))
        for _ in range(0 if accepting else FILLING_CONNECTIONS):  # the kernel drops all that follow
            filling = stack.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(listener.getsockname())
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@pytest.mark.parametrize("kind", ["refused", "silent", "black hole"])
async def test_proxy_without_redis_starts_and_serves(kind: str) -> None:
    one = FakeReplica("en>de", name="one")
    with ExitStack() as stack:
        url = nowhere() if kind == "refused" else stack.enter_context(unanswered(accepting=kind == "silent"))
        async with replicas(one):
            with Awake() as awake:
                async with proxy([one], url, ready=False, redis_timeout=REDIS_TIMEOUT) as young:
                    assert (await young.client.get("/readyz")).status_code == 200
                    assert (await young.translate("Hello"))[0] == 200
                    serving = awake.seconds
                    health = await young.health()
            assert serving < FIRST_SWEEP_SECONDS + MAX_STARTING_CALLS * REDIS_TIMEOUT + SLACK_SECONDS
            assert (health["status"], health["redis"]["up"]) == ("degraded", False)


async def test_keyed_proxy_without_redis_is_ready_and_says_why() -> None:
    one = FakeReplica("en>de", name="one")
    with unanswered(accepting=False) as url:
        async with replicas(one), proxy([one], url, ready=False, keys="on") as young:
            assert (await young.client.get("/readyz")).status_code == 200
            key = f"pw_{'0' * 12}_{'A' * 32}"
            status, problem, headers = await young.translate("Hello", authorization=f"Bearer {key}")
            assert (status, problem["code"]) == (503, "keys-unavailable")
            assert "retry-after" in headers
