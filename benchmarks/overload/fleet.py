"""Servers of the overload benchmark: Redis, an API server with the real demo model en-de, and a proxy, with usual settings."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchmarks.harness.http_load import LoadPlan, LoadProcess
from benchmarks.harness.load import LoadResult, Stream, Timing
from benchmarks.harness.processes import (
    Server,
    cpu_seconds,
    free_port,
    proxy_server,
    python_server,
    ready_replicas,
    redis_server,
)
from benchmarks.harness.texts import TextSource
from benchmarks.harness.waiting import wait_until

PAIR: Final = "en-de"
# vLLM is imported and the model loaded within this.
READY_SECONDS: Final = 240.0
# No load sends more texts than this: each begins where no other one's numbers reach.
MAX_TEXTS_PER_LOAD: Final = 40_000


class CpuSeconds(NamedTuple):
    """CPU seconds of the servers so far, or in a load."""

    proxy: float
    apiserver: float
    engine: float


class OverloadLoad(NamedTuple):
    """What the clients of a load measured, and the servers' CPU in it."""

    result: LoadResult
    cpu: CpuSeconds


class OverloadFleet:
    """All servers; use :func:`running_fleet`."""

    def __init__(self, folder: Path, pairs: str, seed: int) -> None:
        self.folder = folder
        self._pairs = pairs
        self._seed = seed
        self._loads = 0
        redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{proxy_port}"
        self.redis = redis_server(redis_port, folder)
        settings = {"APISERVER_PORT": str(apiserver_port), "APISERVER_MODELS": PAIR}
        self.apiserver = python_server("apiserver", folder, settings, "apiserver")
        self.proxy = proxy_server(folder, proxy_port, [f"http://127.0.0.1:{apiserver_port}"], redis_port, "proxy")

    @property
    def servers(self) -> list[Server]:
        """Every process in the order of their start."""
        return [self.redis, self.apiserver, self.proxy]

    def cpu(self) -> CpuSeconds:
        """Return the CPU seconds of each server so far."""
        (engine,) = self.apiserver.children("EngineCore")
        processes = (psutil.Process(self.proxy.pid), psutil.Process(self.apiserver.pid), engine)
        return CpuSeconds(*map(cpu_seconds, processes))

    async def load(self, streams: Sequence[Stream], seconds: float, warm_up: float) -> OverloadLoad:
        """Send the streams at once; return the samples when the last response has come."""
        self._loads += 1
        name = f"load-{self._loads}"
        texts = TextSource(first=self._loads * MAX_TEXTS_PER_LOAD, pairs=self._pairs, seed=self._seed)
        out = str(self.folder / f"{name}.jsonl")
        timing = Timing(seconds, warm_up)
        plan = LoadPlan(f"{self.url}/translate", out, list(streams), texts, timing)
        before = self.cpu()
        result = await LoadProcess(plan, self.folder, name).run()
        cpu = CpuSeconds(*(now - then for now, then in zip(self.cpu(), before, strict=True)))
        return OverloadLoad(result, cpu)


@asynccontextmanager
async def running_fleet(folder: Path, pairs: str, seed: int) -> AsyncGenerator[OverloadFleet]:
    """Start everything and wait until the pair is served; leave no process behind."""
    fleet = OverloadFleet(folder, pairs, seed)
    try:
        for server in fleet.servers:
            server.start()
        await wait_until(
            lambda: ready_replicas(fleet.url, PAIR) == 1, READY_SECONDS, f"{PAIR} is served; logs are in {folder}"
        )
        yield fleet
    finally:
        for server in reversed(fleet.servers):
            server.stop()
