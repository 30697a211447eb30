"""The designs as running processes: their start, what their engines and CPUs did, their memory."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.request
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
from prometheus_client.parser import text_string_to_metric_families

from apiserver.engine.vllm_engine import ENVIRONMENT
from benchmarks.harness.processes import Server, free_port, http_get, proxy_server, python_server, redis_server, running
from benchmarks.origin.designs.serving import EngineWork
from benchmarks.origin.loads import PointPlan
from benchmarks.origin.model import command_line, engine_arguments, read_entry

# vLLM is imported and the model loaded within this, with as many others beside it.
READY_SECONDS: Final = 400.0
MAX_STARTING: Final = 2
# A point with its warm-up and last answers, each as long as it may be.
PLAN_SECONDS: Final = 240.0
# A process that is no server's first and has this much is one with an engine.
ENGINE_BYTES: Final = 300 * 1024 * 1024
TITLES: Final = {
    "A": "queue, 1 worker",
    "B": "queue, 2 workers",
    "C": "queue, batches of 16",
    "D": "FastAPI + AsyncLLM",
    "E": "Pairway",
    "F": "D with two engines",
    "bare": "AsyncLLM, no HTTP",
    "openai": "vLLM's own server",
}
PROGRAMS: Final = {
    "A": ("designs.queue_design",),
    "B": ("designs.queue_design", "--workers", "2"),
    "C": ("designs.queue_design", "--batch", "16"),
    "D": ("designs.async_engine",),
    "F": ("designs.async_engine", "--engines", "2"),
}
# Nothing is refused, whatever the rate: every design has all of a point's texts in hand. No server writes a line for each request.
SETTINGS: Final = {
    "APISERVER_QUEUE_SECONDS": "30",
    "APISERVER_MAX_WAITING": "100000",
    "APISERVER_LOG_LEVEL": "warning",
    "PROXY_LOG_LEVEL": "warning",
}
# vLLM's metrics that make up EngineWork where a server has no record of its own.
METRICS: Final = (
    "vllm:request_success_total",
    "vllm:e2e_request_latency_seconds_sum",
    "vllm:iteration_tokens_total_count",
    "vllm:generation_tokens_total",
)


@dataclass
class Design:
    """One of them; ``roles`` are its processes, known when it has started.

    ``url`` takes the texts, ``record`` tells what the engine did (``/metrics``: in vLLM's words), ``plans`` is who sends its load.
    """

    name: str
    servers: list[Server]
    url: str
    ready: str
    record: str
    plans: str
    roles: list[tuple[str, psutil.Process]] = field(default_factory=list[tuple[str, psutil.Process]])

    def find_roles(self) -> None:
        """Note every process, from the first one of each server on."""
        for server in self.servers:
            first = psutil.Process(server.pid)
            self.roles.append((server.log.stem.rpartition("-")[2], first))
            self.roles += [(role_of(child), child) for child in first.children(recursive=True)]

    def by_role(self, value: Callable[[psutil.Process], float]) -> dict[str, float]:
        """Return the sums of a figure of the processes."""
        sums = dict.fromkeys((role for role, _ in self.roles), 0.0)
        for role, process in self.roles:
            sums[role] += value(process)
        return sums

    def signal_engines(self, number: signal.Signals) -> None:
        """Stop the engines, whose native threads take 2 % of a core even when there is nothing to do, or let them run again.

        Pairway's is let be: it would be taken for one that hangs.
        """
        for role, process in self.roles:
            if role == "engine" and self.name != "E":
                process.send_signal(number)

    def engine_work(self) -> EngineWork:
        """Return what the engines did so far."""
        body = http_get(self.record)
        return counted_work(body.decode()) if self.record.endswith("/metrics") else EngineWork(**json.loads(body))


def counted_work(metrics: str) -> EngineWork:
    """Return what vLLM's metrics say."""
    sums: Counter[str] = Counter()
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            sums[sample.name] += sample.value  # pyright: ignore[reportArgumentType] - Counter's values may be floats
    requests, seconds, steps, tokens = (sums[name] for name in METRICS)
    return EngineWork(requests, seconds, steps, tokens)


def environment(device: str) -> dict[str, str]:
    """Return every program's environment.

    Without a visible GPU vLLM's CUDA build does not start by mistake on a CPU; with one, it numbers GPUs as nvidia-smi does.
    """
    gpus = {"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return {**ENVIRONMENT, **os.environ, **gpus}


def role_of(process: psutil.Process) -> str:
    """Return the role of a child: engine, or helper (a manager, a tracker, a guard)."""
    is_engine = "EngineCore" in " ".join(process.cmdline()) or process.memory_info().rss > ENGINE_BYTES
    return "engine" if is_engine else "helper"


class Designs:
    """All designs, which run while the block of :meth:`running` lasts."""

    def __init__(self, folder: Path, catalog: Path, texts: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.designs: dict[str, Design] = {}
        self._catalog = catalog
        self._texts = ("--texts", str(texts))
        self._environment = environment
        self._starting = asyncio.Semaphore(MAX_STARTING)
        self._clients = self._program("clients", "loads", *self._texts)

    @asynccontextmanager
    async def running(self, names: Sequence[str]) -> AsyncGenerator[None]:
        """Start every design, and the clients; leave no process behind."""
        others = {"E": self._pairway, "openai": self._openai}
        for name in names:
            if name == "bare":
                self.designs[name] = self._program(name, "designs.async_engine", *self._texts)
            else:
                self.designs[name] = others[name]() if name in others else self._program(name, *PROGRAMS[name])
                self.designs[name].plans = self._clients.plans
        async with AsyncExitStack() as stack:
            async with asyncio.TaskGroup() as group:
                for design in (self._clients, *self.designs.values()):
                    group.create_task(self._start(design, stack))
            for design in self.designs.values():
                stack.callback(design.signal_engines, signal.SIGCONT)
                design.signal_engines(signal.SIGSTOP)
            yield

    async def load(self, design: Design, plan: PointPlan) -> bytes:
        """Send a point's texts to a design; return the result as JSON."""
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(design.plans, json.dumps(asdict(plan)).encode(), headers)  # noqa: S310 - our own server

        def post() -> bytes:
            with urllib.request.urlopen(request, timeout=PLAN_SECONDS) as response:  # noqa: S310
                return response.read()

        return await asyncio.to_thread(post)

    async def _start(self, design: Design, stack: AsyncExitStack) -> None:
        async with self._starting:
            print(f"starting {design.name}: {TITLES.get(design.name, 'they send the loads')}", flush=True)
            ready = running(design.servers, lambda: _is_ready(design.ready), READY_SECONDS, f"{design.name} is ready")
            await stack.enter_async_context(ready)
            design.find_roles()

    def _program(self, name: str, module: str, *arguments: str) -> Design:
        """Return a program of our own, with the URLs that such have."""
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", f"benchmarks.origin.{module}", *arguments]
        command += ["--catalog", str(self._catalog), "--port", str(port)]
        server = Server(command, self.folder / f"{name}-web.log", self._environment)
        return Design(name, [server], f"{url}/translate", f"{url}/readyz", f"{url}/record", f"{url}/plan")

    def _openai(self) -> Design:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--port", str(port)]
        command += [*command_line(engine_arguments(read_entry(self._catalog))), "--disable-uvicorn-access-log"]
        server = Server(command, self.folder / "openai-web.log", self._environment)
        return Design("openai", [server], f"{url}/v1/completions", f"{url}/health", f"{url}/metrics", "")

    def _pairway(self) -> Design:
        redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
        folder = self.folder / "E"
        folder.mkdir(exist_ok=True)
        settings = {**self._environment, **SETTINGS}
        own = {"APISERVER_CATALOG": str(self._catalog), "APISERVER_PORT": str(apiserver_port)}
        module = "benchmarks.origin.designs.pairway_server"
        apiserver = python_server(module, folder, {**settings, **own}, "E-apiserver")
        inside, outside = f"http://127.0.0.1:{apiserver_port}", f"http://127.0.0.1:{proxy_port}"
        proxy = proxy_server(folder, proxy_port, [inside], redis_port, "E-proxy", settings)
        redis = redis_server(redis_port, folder)
        redis.log = folder / "E-redis.log"
        urls = (f"{outside}/translate", f"{outside}/health", f"{inside}/record", "")
        return Design("E", [redis, apiserver, proxy], *urls)


def _is_ready(url: str) -> bool:
    """Whether a server is ready; a proxy is when its pairs are."""
    try:
        body = http_get(url, 5.0)
    except OSError:
        return False
    health: dict[str, Any] = json.loads(body) if body and url.endswith("/health") else {}
    return all(pair["ready"] for pair in health.get("pairs", {}).values())
