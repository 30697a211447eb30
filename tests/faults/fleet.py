"""Fleet with faults on order: Redis, relays, API servers and proxies as real processes, and a load on them."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.harness.http_load import LoadPlan, LoadProcess
from benchmarks.harness.load import Stream
from benchmarks.harness.texts import TextSource
from tests.faults.control import send_command
from tests.support.processes import ROOT, Server, free_port, python_server, redis_server
from tests.support.waiting import wait_until

RATE = 40.0
PAIRS = ("en-de", "de-en")
SCRIPTED_CATALOG = """
models:
  {name}: {{path: org/{name}, pairs: [en-de, de-en], prompt: demo-tags, engine: {{max_num_seqs: 64}}}}
"""
REAL_CATALOG = """
models:
  {name}:
    path: {root}/models/en-de
    pairs: [en-de, de-en]
    prompt: demo-tags
    segment: {{tokens: 48, sentences: 1}}
    engine:
      dtype: bfloat16
      max_model_len: 512
      max_num_seqs: 64
      max_num_batched_tokens: 2048
      scheduling_policy: priority
      kv_cache_memory_bytes: 67108864
      enforce_eager: true
"""
# A small model cannot translate every number.
REAL_TEXTS = TextSource(template="I have {} books.", expected="{}", offset=50, numbers=40)
SCRIPTED_TEXTS = TextSource(template="Room {}.", expected="[Room {}.]")
# A text longer than this is refused by the replicas, not by the proxy, whose limit is the usual one.
MAX_TEXT_CHARS = 4000
READY_SECONDS = 30.0
# Two engines import vLLM at once on two cores.
REAL_READY_SECONDS = 400.0


# What the proxy's metrics count.
COUNTERS = {
    "pairway_proxy_attempts_total": ("attempts",),
    "pairway_proxy_requests_total": ("begun",),
    "pairway_proxy_requests_in_flight": ("begun", "in_flight"),
}


@dataclass(frozen=True)
class FleetSetup:
    """What a fleet is made of; ``real``: vLLM and the demo model instead of the scripted engine."""

    replicas: int = 2
    proxies: int = 1
    drain_seconds: float = 3.0
    real: bool = False
    # Proxies that report how many tasks they have.
    watched: bool = False

    @property
    def ready_within(self) -> float:
        return REAL_READY_SECONDS if self.real else READY_SECONDS


class ReplicaUnderTest:
    """One API server behind its relay; its model bears its name, so that every answer says who gave it."""

    def __init__(self, name: str, setup: FleetSetup, folder: Path, relay_control: int) -> None:
        self.name = name
        self.port, self.control, self.relay = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.relay}"
        self.own_url = f"http://127.0.0.1:{self.port}"
        self._relay_control = relay_control
        catalog = folder / f"{name}.yaml"
        text = REAL_CATALOG if setup.real else SCRIPTED_CATALOG
        catalog.write_text(text.format(name=name, root=ROOT))
        environment = {
            "APISERVER_PORT": str(self.port),
            "APISERVER_CATALOG": str(catalog),
            "APISERVER_DRAIN_SECONDS": str(setup.drain_seconds),
            "APISERVER_MAX_TEXT_CHARS": str(MAX_TEXT_CHARS),
            "APISERVER_LOG_FORMAT": "text",
        }
        self.server = python_server("apiserver", folder, environment, name)
        if not setup.real:
            self.server.command[2:] = ["tests.faults.scripted_server", str(self.control)]

    async def script(self, **change: Any) -> dict[str, Any]:
        """Command the scripted engine; return its state."""
        return await send_command(self.control, **change)

    async def mode(self, mode: str) -> None:
        """Put a fault between the proxy and this replica."""
        await send_command(self._relay_control, relay=self.relay, mode=mode)

    async def hits(self, since: int | None = None) -> dict[str, Any]:
        """Return ``count`` of translations sent here so far, and each from number ``since`` on."""
        return await send_command(self._relay_control, relay=self.relay, since=since)


class ProxyUnderTest:
    """One proxy process."""

    def __init__(self, number: int, setup: FleetSetup, folder: Path, urls: Sequence[str], redis_port: int) -> None:
        self.port, self.control = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        environment = {
            "PROXY_PORT": str(self.port),
            "PROXY_REPLICAS": ",".join(urls),
            "PROXY_REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
            "PROXY_DRAIN_SECONDS": str(setup.drain_seconds),
            "PROXY_LOG_FORMAT": "text",
        }
        self.server = python_server("proxy", folder, environment, f"proxy-{number}")
        if setup.watched:
            self.server.command[2:] = ["tests.faults.watched_proxy", str(self.control)]


class FaultFleet:
    """A whole fleet; use :func:`running_fleet`."""

    def __init__(self, setup: FleetSetup, folder: Path, session: aiohttp.ClientSession) -> None:
        self.setup = setup
        self.folder = folder
        self.session = session
        self.redis_port = free_port()
        self.redis = redis_server(self.redis_port, folder)
        self.relay_control = free_port()
        names = "abcdefgh"[: setup.replicas]
        self.replicas = [ReplicaUnderTest(name, setup, folder, self.relay_control) for name in names]
        routes = [f"{replica.relay}={replica.port}" for replica in self.replicas]
        command = [sys.executable, "-m", "tests.faults.fault_proxy", str(self.relay_control), *routes]
        self.relays = Server(command, folder / "relays.log")
        urls = [replica.url for replica in self.replicas]
        self.proxies = [ProxyUnderTest(number, setup, folder, urls, self.redis_port) for number in range(setup.proxies)]
        self._loads = 0

    @property
    def proxy(self) -> ProxyUnderTest:
        return self.proxies[0]

    @property
    def servers(self) -> list[Server]:
        """Every process, in the order of their start."""
        replicas = [replica.server for replica in self.replicas]
        return [self.redis, self.relays, *replicas, *(proxy.server for proxy in self.proxies)]

    async def get(self, url: str) -> tuple[int, Any]:
        """Return the status and JSON (or text) of an answer; 0 when there is none."""
        try:
            async with self.session.get(url, timeout=aiohttp.ClientTimeout(total=3)) as response:
                plain = response.content_type == "text/plain"
                return response.status, await (response.text() if plain else response.json(content_type=None))
        except (aiohttp.ClientError, TimeoutError):
            return 0, {}

    async def health(self, proxy: ProxyUnderTest | None = None) -> dict[str, Any]:
        """Return the proxy's /health, {} when it does not answer."""
        return cast("dict[str, Any]", (await self.get(f"{(proxy or self.proxy).url}/health"))[1])

    async def is_ready(self, replica: ReplicaUnderTest) -> bool:
        """Say whether the replica itself, asked directly, is ready for all its pairs."""
        _, report = await self.get(f"{replica.own_url}/report")
        return bool(report) and all(pair["ready"] for pair in report["pairs"].values())

    async def is_whole(self) -> bool:
        """Say whether every proxy sees every replica ready for every pair, and Redis."""
        for proxy in self.proxies:
            health = await self.health(proxy)
            ready = [health.get("pairs", {}).get(pair, {}).get("ready") for pair in PAIRS]
            if ready != [len(self.replicas)] * len(PAIRS) or not health["redis"]["up"]:
                return False
        return True

    async def until_whole(self, within: float | None = None) -> None:
        within = within or self.setup.ready_within
        await wait_until(self.is_whole, within, f"the whole fleet ready\n{self.logs()}")

    async def heal(self) -> None:
        """End every fault there may be, and wait until the fleet is whole."""
        for server in self.servers:
            assert server.process is not None
            if server.process.poll() is None:
                server.signal(signal.SIGCONT)
            else:
                server.start()
        for replica in self.replicas:
            await wait_until(lambda replica=replica: self.is_up(replica), self.setup.ready_within, "the launcher")
            await replica.mode("pass")
            if not self.setup.real:
                await replica.script(delay=0.02, hung=False)
        await self.until_whole()

    async def is_up(self, replica: ReplicaUnderTest) -> bool:
        """Say whether the replica's process answers HTTP."""
        return (await self.get(f"{replica.own_url}/livez"))[0] == 200

    async def translate(
        self, body: Any, proxy: ProxyUnderTest | None = None, *, limit: float = 30.0
    ) -> tuple[int, dict[str, Any], float]:
        """Return status, JSON and seconds of one translation; ``body`` as it is when it is bytes."""
        began = time.monotonic()
        url = f"{(proxy or self.proxy).url}/translate"
        own = {"data": body, "headers": {"Content-Type": "application/json"}}
        sent: dict[str, Any] = own if isinstance(body, bytes) else {"json": body}
        async with self.session.post(url, timeout=aiohttp.ClientTimeout(total=limit), **sent) as response:
            answer = await response.json(content_type=None)
            return response.status, answer, time.monotonic() - began

    async def metrics(self, proxy: ProxyUnderTest | None = None) -> dict[str, float]:
        """Return what the proxy counts: ``attempts`` that ended, requests ``begun``, and those ``in_flight``."""

        async def answered() -> str:
            status, text = await self.get(f"{(proxy or self.proxy).url}/metrics")
            return str(text) if status else ""

        text = await wait_until(answered, READY_SECONDS, "the proxy's metrics")
        counters: dict[str, float] = {"attempts": 0.0, "begun": 0.0, "in_flight": 0.0}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                for name in COUNTERS.get(sample.name, ()):
                    counters[name] += sample.value
        return counters

    @asynccontextmanager
    async def loaded(
        self, rate: float = RATE, proxy: ProxyUnderTest | None = None, *, limit: float = 5.0
    ) -> AsyncGenerator[LoadProcess]:
        """Send a steady load while the block lasts, of clients that wait ``limit`` s; ``stop`` returns its samples."""
        self._loads += 1
        real = self.setup.real
        name = f"load-{self._loads}"
        plan = LoadPlan(
            f"{(proxy or self.proxy).url}/translate",
            [Stream(name, rate, poisson=False)],
            REAL_TEXTS if real else SCRIPTED_TEXTS,
            timeout=limit,
            request_ids=name,
        )
        async with LoadProcess(plan, self.folder, name).running() as load:
            yield load

    def logs(self) -> str:
        return "\n".join(f"--- {server.log.name}\n{server.tail(6)}" for server in self.servers if server.log.exists())


@asynccontextmanager
async def running_fleet(setup: FleetSetup, folder: Path) -> AsyncGenerator[FaultFleet]:
    """Start a fleet, wait until it is whole, and leave nothing of it behind; the folder takes the logs."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        fleet = FaultFleet(setup, folder, session)
        try:
            for server in fleet.servers:
                server.start()
            await fleet.until_whole()
            yield fleet
        finally:
            # Each guards its own children: an EngineCore ends with its API server.
            for server in reversed(fleet.servers):
                if server.process is not None and server.process.poll() is None:
                    await asyncio.to_thread(server.kill)
