"""The readiness monitor: what is missing, and that each change is shown once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from deploy.readiness import READINESS_POLL_SECONDS, ReadinessMonitor, is_proxy_ready, is_replica_ready, open_client
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


@asynccontextmanager
async def proxy_with(health: dict[str, object]) -> AsyncGenerator[str]:
    """Serve this as every response while the block lasts; yield the URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps(health).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def silent(_name: str, _message: str) -> None:
    """Show nothing."""


async def test_wait_returns_the_pairs_once_the_proxy_knows_them() -> None:
    health: dict[str, object] = {"status": "down", "pairs": {}}
    fake, lines = FakeReplica("en>de"), list[tuple[str, str]]()
    async with proxy_with(health) as url, replicas(fake):
        monitor = ReadinessMonitor(url, {"apiserver-a": fake.url}, lambda name, message: lines.append((name, message)))
        waiting = asyncio.create_task(monitor.wait())
        behind = ["proxy: en-de is ready on apiserver-a, the proxy has not seen it yet"]
        await wait_until(lambda: monitor.missing() == behind, 10)
        health.update(status="ok", pairs={"en-de": {"ready": 1}})
        async with asyncio.timeout(10):
            assert await waiting == ["en-de"]
    assert ("apiserver-a", "en-de ready") in lines
    assert len(lines) == len(set(lines)), "each change once"


async def test_missing_names_servers_that_do_not_answer() -> None:
    monitor = ReadinessMonitor("http://127.0.0.1:1", {"apiserver-a": "http://127.0.0.1:1"}, silent)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2 * READINESS_POLL_SECONDS):
            await monitor.wait()
    assert monitor.missing() == ["apiserver-a does not answer yet", "proxy does not answer yet"]


async def test_missing_names_the_reason_of_an_unready_pair() -> None:
    fake = FakeReplica("en>de")
    fake.pairs["en>de"] = False
    async with replicas(fake):
        monitor = ReadinessMonitor("http://127.0.0.1:1", {"apiserver-a": fake.url}, silent)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2 * READINESS_POLL_SECONDS):
                await monitor.wait()
    assert monitor.missing()[0] == "apiserver-a: en-de is not ready: its engine starts"


async def test_replica_is_ready_with_all_its_pairs() -> None:
    fake = FakeReplica("en>de", "de>en")
    async with replicas(fake), open_client() as client:
        assert await is_replica_ready(client, fake.url)
        fake.pairs["en>de"] = False
        assert not await is_replica_ready(client, fake.url)
    async with open_client() as client:
        assert not await is_replica_ready(client, "http://127.0.0.1:1")


async def test_foreign_server_is_not_ready() -> None:
    async with proxy_with({"hello": "I am another program"}) as url, open_client() as client:
        assert not await is_replica_ready(client, url)


async def test_proxy_is_ready_when_it_answers() -> None:
    async with proxy_with({}) as url, open_client() as client:
        assert await is_proxy_ready(client, url)
        assert not await is_proxy_ready(client, "http://127.0.0.1:1")
