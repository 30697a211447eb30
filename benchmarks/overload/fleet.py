"""The overload benchmark's servers: a Redis, an API server with the real demo model en-de, a proxy; with usual settings."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import psutil

from benchmarks.harness.load import Answer, Plan, Stream, as_json
from tests.processes import Server, free_port, python_server, redis_server
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence
    from pathlib import Path

MODEL: Final = "en-de"
PAIR: Final = "en-de"
# vLLM is imported and the model loaded within this.
READY_SECONDS: Final = 240.0
# The last answer of a load comes within the clients' patience, twice where they come back.
DRAIN_SECONDS: Final = 240.0
# No load sends more texts than this: each begins where no other one's numbers reach.
TEXTS_OF_A_LOAD: Final = 40_000


class Cpu(NamedTuple):
    """CPU seconds so far, or spent in a time."""

    proxy: float
    apiserver: float
    engine: float

    def since(self, before: Cpu) -> Cpu:
        """Return what was spent since."""
        return Cpu(*(now - then for now, then in zip(self, before, strict=True)))


class Load(NamedTuple):
    """What a load's clients saw, from monotonic second ``began`` on, and the CPU seconds that it took them and the servers.

    ``since`` and ``until`` bound the time that counts, the one after the warm-up.
    """

    answers: list[Answer]
    began: float
    since: float
    until: float
    own_cpu: float
    cpu: Cpu

    @property
    def seconds(self) -> float:
        """Length of the time that counts."""
        return self.until - self.since


class Fleet:
    """All servers; use :func:`started`."""

    def __init__(self, folder: Path, pairs: str, seed: int) -> None:
        """Take the folder of logs and results, the file of sentences ('' for made up ones) and the seed of everything."""
        self.folder = folder
        self._pairs = pairs
        self._seed = seed
        self._loads = 0
        redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{proxy_port}"
        self.redis = redis_server(redis_port, folder)
        self.apiserver = python_server(
            "apiserver", folder, {"APISERVER_PORT": str(apiserver_port), "APISERVER_MODELS": MODEL}, "apiserver"
        )
        settings = {
            "PROXY_PORT": str(proxy_port),
            "PROXY_REPLICAS": f"http://127.0.0.1:{apiserver_port}",
            "PROXY_REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
        }
        self.proxy = python_server("proxy", folder, settings, "proxy")

    @property
    def servers(self) -> list[Server]:
        """Every process in the order of their start."""
        return [self.redis, self.apiserver, self.proxy]

    def is_ready(self) -> bool:
        """Say whether the proxy sees the pair served."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=3) as answer:  # noqa: S310 - our own server
                health: dict[str, Any] = json.load(answer)
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False
        return health["pairs"].get(PAIR, {}).get("ready") == 1

    def cpu(self) -> Cpu:
        """Return the CPU seconds of each server so far."""
        (engine,) = self.apiserver.children("EngineCore")
        processes = (psutil.Process(self.proxy.pid), psutil.Process(self.apiserver.pid), engine)
        return Cpu(*(times.user + times.system for times in (process.cpu_times() for process in processes)))

    async def load(self, streams: Sequence[Stream], seconds: float, warm_up: float) -> Load:
        """Send the streams at once and return what their clients saw, when the last answer has come."""
        self._loads += 1
        name = f"load-{self._loads}"
        out = self.folder / f"{name}.jsonl"
        first = self._loads * TEXTS_OF_A_LOAD
        plan = Plan(f"{self.url}/translate", str(out), self._pairs, self._seed, first, warm_up, seconds, list(streams))
        before = self.cpu()
        server = Server([sys.executable, "-m", "benchmarks.harness.load", as_json(plan)], self.folder / f"{name}.log")
        server.start()
        try:
            await asyncio.to_thread(server.process.wait, warm_up + seconds + DRAIN_SECONDS)  # pyright: ignore[reportOptionalMemberAccess] - it was started
        finally:
            server.stop()
        spent = self.cpu().since(before)
        if not out.exists():
            raise RuntimeError(f"the load broke off:\n{server.tail()}")
        *lines, last = _lines(out)
        began = float(last["began"])
        since = began + warm_up
        answers = [Answer(*line) for line in lines]
        return Load(answers, began, since, since + seconds, float(last["cpu"]), spent)


def _lines(out: Path) -> Iterator[Any]:
    with out.open() as lines:
        yield from map(json.loads, lines)


@asynccontextmanager
async def started(folder: Path, pairs: str, seed: int) -> AsyncGenerator[Fleet]:
    """Start everything and wait until the pair is served; leave no process behind."""
    fleet = Fleet(folder, pairs, seed)
    try:
        for server in fleet.servers:
            server.start()
        await wait_until(fleet.is_ready, READY_SECONDS, f"the pair {PAIR} served; the logs lie in {folder}")
        yield fleet
    finally:
        for server in reversed(fleet.servers):
            server.stop()
