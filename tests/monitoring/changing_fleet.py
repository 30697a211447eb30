"""A fleet that operators change: proxies over one Redis, and API servers with scripted engines, at addresses of one name."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from apiserver.engine.interface import GenerationResult
from tests.apiserver.conftest import serving, settings_in
from tests.apiserver.integration.operated_server import CATALOG, RENAMED, TOKEN, FakeMemory, Operated
from tests.monitoring.prometheus import Prometheus, running_prometheus, shortened_seconds
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.processes import free_port
from tests.support.scripted_engine import Asked, ScriptedFactory
from tests.support.waiting import wait_until

SERVICE: Final = "apiserver"
PROXY_JOB: Final = "pairway-proxy"
SERVER_JOB: Final = "pairway-apiserver"
OPERATOR: Final = {"Authorization": f"Bearer {TOKEN}"}
DRAIN_SECONDS: Final = shortened_seconds(10)
# Requests of each proxy a second.
RATE: Final = 5.0
WITHIN: Final = 60.0


class ApiServers:
    """API servers at one port of several addresses, which are what the name of their service means."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._stacks: dict[str, AsyncExitStack] = {}
        self._running: dict[str, Operated] = {}
        self.hosts: list[str] = []

    @property
    def url(self) -> str:
        """The URL in a proxy's settings."""
        return f"http://{SERVICE}:{self._port}"

    @property
    def targets(self) -> list[str]:
        """The addresses that are scraped: those of the name."""
        return [f"{host}:{self._port}" for host in self.hosts]

    async def resolve(self, _: str) -> list[str]:
        """Return what the service's name means now."""
        return list(self.hosts)

    def url_of(self, host: str) -> str:
        """Return the URL of one replica."""
        return f"http://{host}:{self._port}"

    async def start(self, host: str) -> None:
        """Start a server at an address, and let the name mean that one too."""
        folder = self._folder / host
        for name in ("v1", "v2", "fr"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / "config.json").write_text("{}")
            (folder / name / "model.safetensors").write_text(name)
        settings = settings_in(folder, CATALOG, operator_token=TOKEN, drain_seconds=DRAIN_SECONDS)
        stack, factory, memory = AsyncExitStack(), ScriptedFactory(), FakeMemory()
        served = await stack.enter_async_context(serving(factory, settings, memory, host=host, port=self._port))
        self._stacks[host] = stack
        self._running[host] = Operated(served, factory, memory, folder / "models.yaml")
        if host not in self.hosts:
            self.hosts.append(host)
        await served.until_ready()

    async def stop(self, host: str) -> None:
        """Stop a server as SIGTERM does; its address stays in the name."""
        served = self._running.pop(host).served
        served.server.handle_exit(signal.SIGTERM, None)
        await asyncio.wait_for(asyncio.shield(served.serving), WITHIN)
        await self._stacks.pop(host).aclose()

    def let_answer(self, host: str, answer: Callable[[Asked], GenerationResult]) -> None:
        """Let all engines of a server answer so."""
        for name in self._running[host].factory.engines:
            self._running[host].factory.engine(name).answer = answer

    async def reload(self, host: str) -> dict[str, Any]:
        """Give a server another model while it serves; return what was changed."""
        operated = self._running[host]
        assert (await operated.reload(RENAMED)).is_success
        return await operated.change_ended()

    async def close(self) -> None:
        """Stop all that run."""
        for host in list(self._running):
            await self.stop(host)


class ChangingFleet:
    """The fleet and what watches it."""

    def __init__(self, servers: ApiServers, proxies: list[RunningProxy], prometheus: Prometheus) -> None:
        self.servers = servers
        self.proxies = proxies
        self.prometheus = prometheus

    async def add(self, host: str) -> None:
        """Start a further server; discovery finds it."""
        await self.servers.start(host)
        self.prometheus.scrape(SERVER_JOB, self.servers.targets)

    async def take_away(self, host: str) -> None:
        """Stop a server for good: its address leaves the name, as a container's does."""
        await self.servers.stop(host)
        self.servers.hosts.remove(host)
        self.prometheus.scrape(SERVER_JOB, self.servers.targets)

    async def expect(self, count: int) -> None:
        """State how many replicas there should be."""
        await self._order("PUT", "/fleet/expected", {SERVICE: count})

    async def drain(self, host: str) -> None:
        """Let a replica get no more requests."""
        await self._order("POST", "/fleet/replicas/drain", {"url": self.servers.url_of(host)})

    async def resume(self, host: str) -> None:
        """Let it get requests again."""
        await self._order("POST", "/fleet/replicas/resume", {"url": self.servers.url_of(host)})

    async def until_ready(self, count: int) -> None:
        """Wait until every proxy has so many ready replicas of each pair."""

        async def is_ready() -> bool:
            healths = [await each.health() for each in self.proxies]
            return all(pair["ready"] == count for health in healths for pair in health["pairs"].values())

        await wait_until(is_ready, WITHIN, f"{count} ready replicas")

    async def _order(self, method: str, path: str, body: dict[str, Any]) -> None:
        answer = await self.proxies[0].client.request(method, path, json=body, headers=OPERATOR)
        assert answer.is_success, answer.text


@asynccontextmanager
async def requests_to(proxies: list[RunningProxy]) -> AsyncGenerator[list[int]]:
    """Send each proxy requests while the block lasts; yield the statuses of those that were not answered."""
    failed: list[int] = []

    async def send() -> None:
        number = 0
        while True:
            for each in proxies:
                number += 1
                status, _, _ = await each.translate(f"Room {number}.")
                failed.extend([status] if status != 200 else [])
            await asyncio.sleep(1 / RATE)

    sending = asyncio.create_task(send())
    try:
        yield failed
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


@asynccontextmanager
async def api_servers(folder: Path, *hosts: str) -> AsyncGenerator[ApiServers]:
    """Run servers at these addresses while the block lasts."""
    servers = ApiServers(folder)
    try:
        for host in hosts:
            await servers.start(host)
        yield servers
    finally:
        await servers.close()


@asynccontextmanager
async def watched_fleet(
    folder: Path, redis_url: str, *hosts: str, observer_token: str = "", **settings: Any
) -> AsyncGenerator[ChangingFleet]:
    """Run two proxies with these settings and servers at these addresses, and a Prometheus that watches them."""
    (folder / "prometheus").mkdir()
    settings |= {"operator_token": TOKEN, "observer_token": observer_token}
    async with api_servers(folder, *hosts) as servers:
        one, two = (proxy([servers.url], redis_url, resolver=servers.resolve, **settings) for _ in range(2))
        async with one as first, two as second:
            targets = {
                PROXY_JOB: [each.url.removeprefix("http://") for each in (first, second)],
                SERVER_JOB: servers.targets,
            }
            async with running_prometheus(folder / "prometheus", targets, observer_token) as prometheus:
                fleet = ChangingFleet(servers, [first, second], prometheus)
                await fleet.expect(len(hosts))
                await fleet.until_ready(len(hosts))
                yield fleet
