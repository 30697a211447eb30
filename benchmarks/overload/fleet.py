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
    running,
)
from benchmarks.harness.texts import TextSource

PAIR: Final = "en-de"
# vLLM is imported and the model loaded within this.
READY_SECONDS: Final = 240.0
# No load sends more texts than this: each begins where no other one's numbers reach.
MAX_TEXTS_PER_LOAD: Final = 40_000


class OverloadLoad(NamedTuple):
    """What the clients of a load measured, and the CPU seconds of proxy, API server and engine in it."""

    result: LoadResult
    cpu: list[float]


class OverloadFleet:
    """All servers; use :func:`running_fleet`."""

    def __init__(self, folder: Path, texts: tuple[str, int], url: str, proxy: Server, apiserver: Server) -> None:
        self._folder = folder
        self._pairs, self._seed = texts
        self._url = url
        self._proxy = proxy
        self._apiserver = apiserver
        self._loads = 0

    async def load(self, streams: Sequence[Stream], seconds: float, warm_up: float) -> OverloadLoad:
        """Send the streams at once; return the samples when the last response has come."""
        self._loads += 1
        name = f"load-{self._loads}"
        texts = TextSource(first=self._loads * MAX_TEXTS_PER_LOAD, pairs=self._pairs, seed=self._seed)
        out, timing = str(self._folder / f"{name}.json"), Timing(seconds, warm_up)
        before = self._cpu()
        plan = LoadPlan(f"{self._url}/translate", out, list(streams), texts, timing)
        result = await LoadProcess(plan, self._folder, name).run()
        return OverloadLoad(result, [now - then for now, then in zip(self._cpu(), before, strict=True)])

    def _cpu(self) -> list[float]:
        (engine,) = self._apiserver.children("EngineCore")
        return [cpu_seconds(each) for each in (*map(psutil.Process, (self._proxy.pid, self._apiserver.pid)), engine)]


@asynccontextmanager
async def running_fleet(folder: Path, pairs: str, seed: int) -> AsyncGenerator[OverloadFleet]:
    """Start everything and wait until the pair is served; leave no process behind."""
    redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
    url = f"http://127.0.0.1:{proxy_port}"
    redis = redis_server(redis_port, folder)
    settings = {"APISERVER_PORT": str(apiserver_port), "APISERVER_MODELS": PAIR}
    apiserver = python_server("apiserver", folder, settings, "apiserver")
    proxy = proxy_server(folder, proxy_port, [f"http://127.0.0.1:{apiserver_port}"], redis_port, "proxy")
    async with running([redis, apiserver, proxy], lambda: ready_replicas(url, PAIR), READY_SECONDS):
        yield OverloadFleet(folder, (pairs, seed), url, proxy, apiserver)
