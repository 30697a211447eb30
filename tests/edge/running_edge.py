"""The edge that ships, in front of two real proxies, whose replica is a fake one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.connections.edge import Edge
from tests.conftest import NO_AUTHORITIES
from tests.edge.install import nginx
from tests.proxy.proxies import JSON, nowhere
from tests.support.fake_replica import FakeReplica
from tests.support.processes import Server, free_port, python_server
from tests.support.waiting import wait_until

PROXIES = ("127.0.3.1", "127.0.3.2")
READY_SECONDS = 30
REQUEST_SECONDS = 60


@dataclass
class Fleet:
    """Two proxies at one port, and their replica."""

    fake: FakeReplica
    port: int
    proxies: list[Server]

    async def are_ready(self) -> None:
        """Wait until both proxies translate."""
        for address in PROXIES:
            await becomes_ready(f"http://{address}:{self.port}")


@dataclass
class RunningEdge:
    """The edge, and what stands behind it."""

    edge: Edge
    fleet: Fleet

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of its requests."""
        lines = self.edge.server.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    @asynccontextmanager
    async def client(self, address: str) -> AsyncGenerator[httpx.AsyncClient]:
        """Yield a client with this address."""
        limits = httpx.Limits(max_connections=None)
        transport = httpx.AsyncHTTPTransport(local_address=address, verify=NO_AUTHORITIES, limits=limits)
        async with httpx.AsyncClient(
            base_url=self.edge.url, transport=transport, timeout=REQUEST_SECONDS, headers=JSON
        ) as client:
            yield client


@asynccontextmanager
async def running_fleet(folder: Path) -> AsyncGenerator[Fleet]:
    """Run the proxies and their replica."""
    port, fake = free_port(), FakeReplica("en>de")
    async with AsyncExitStack() as stack:
        await fake.start()
        stack.push_async_callback(fake.stop)
        proxies = [
            python_server("proxy", folder, _environment(address, port, fake), f"proxy-{address}") for address in PROXIES
        ]
        for server in proxies:
            stack.push_async_callback(asyncio.to_thread, server.stop)
            server.start()
        fleet = Fleet(fake, port, proxies)
        await fleet.are_ready()
        yield fleet


@asynccontextmanager
async def running_edge(
    fleet: Fleet, folder: Path, settings: Mapping[str, str] | None = None
) -> AsyncGenerator[RunningEdge]:
    """Run the edge with these settings in front of the fleet."""
    edge = Edge(nginx(), folder / "edge", PROXIES, fleet.port, settings)
    async with edge.names():
        try:
            edge.server.start()
            await becomes_ready(edge.url)
            yield RunningEdge(edge, fleet)
        finally:
            await asyncio.to_thread(edge.server.stop)


async def becomes_ready(url: str) -> None:
    """Wait until a server translates."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, verify=NO_AUTHORITIES) as client:

        async def is_ready() -> bool:
            try:
                return (await client.get("/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        await wait_until(is_ready, READY_SECONDS, f"{url} is ready")


def _environment(address: str, port: int, fake: FakeReplica) -> dict[str, str]:
    return {
        "PROXY_HOST": address,
        "PROXY_PORT": str(port),
        "PROXY_REPLICAS": fake.url,
        "PROXY_REDIS_URL": nowhere(),
        "PROXY_TRUSTED_PROXIES": "127.0.0.1",
        "PROXY_PROBE_INTERVAL": "0.2",
        "PROXY_PROBE_TIMEOUT": "10",  # a report that comes late finds no replica dead
        "PROXY_DRAIN_SECONDS": "0",
    }
