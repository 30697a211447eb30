"""The designs as running processes: their start, what their engines and CPUs did, their memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import psutil
from prometheus_client.parser import text_string_to_metric_families

from apiserver.engine.preloaded import ENVIRONMENT
from benchmarks.harness.http_client import HttpClient
from benchmarks.harness.load import RESULT_JSON, LoadResult
from benchmarks.harness.processes import (
    Server,
    free_port,
    http_get,
    proxy_server,
    python_server,
    ready_replicas,
    redis_server,
    running,
)
from benchmarks.origin.designs.serving import EngineWork
from benchmarks.origin.loads import PointPlan, http_sender, run_plan
from benchmarks.origin.model import engine_arguments, has_random_weights, read_entry
from benchmarks.origin.texts import TextPool

# vLLM is imported and the model loaded within this, with as many others beside it.
READY_SECONDS: Final = 400.0
MAX_STARTING: Final = 2
# A point with its warm-up and last answers, each as long as it may be.
PLAN_SECONDS: Final = 240.0
# A process that is no server's first and has this much is one with an engine.
ENGINE_BYTES: Final = 300 << 20
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
# Programs in designs/, and their options.
PROGRAMS: Final = {
    "A": ("queue_design",),
    "B": ("queue_design", "--workers", "2"),
    "C": ("queue_design", "--batch", "16"),
    "D": ("async_engine",),
    "F": ("async_engine", "--engines", "2"),
    "bare": ("async_engine",),
}
# Nothing is refused, whatever the rate: every design has all of a point's texts in flight. No server writes a line for each request.
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
    """One of them; ``url`` takes the texts, ``record`` says what the engine did (``/metrics``: in vLLM's words).

    ``roles`` are its processes, known when it has started: from the first one of each server on.
    """

    name: str
    servers: list[Server]
    url: str
    record: str
    is_ready: Callable[[], object]
    roles: list[tuple[str, psutil.Process]] = field(default_factory=list[tuple[str, psutil.Process]])
    _counted: tuple[float, ...] = (0, 0, 0, 0)

    def find_roles(self) -> None:
        """Note every process; a helper is a manager, a tracker, a guard."""
        for server in self.servers:
            first = psutil.Process(server.pid)
            self.roles.append((server.log.stem.rpartition("-")[2], first))
            for child in first.children(recursive=True):
                self.roles.append(("engine" if child.memory_info().rss > ENGINE_BYTES else "helper", child))

    def by_role(self, value: Callable[[psutil.Process], float]) -> dict[str, float]:
        """Return the sums of a figure of the processes."""
        sums: defaultdict[str, float] = defaultdict(float)
        for role, process in self.roles:
            sums[role] += value(process)
        return dict(sums)

    def signal_engines(self, number: signal.Signals) -> None:
        """Stop the engines, whose native threads take 2 % of a core even when there is nothing to do, or let them run again.

        Pairway's is let be: it would be taken for one that hangs.
        """
        for role, process in self.roles:
            if role == "engine" and self.name != "E":
                process.send_signal(number)

    def engine_work(self) -> EngineWork:
        """Return what the engines did since the last look."""
        body = http_get(self.record)
        if not self.record.endswith("/metrics"):
            return EngineWork(**json.loads(body))
        before, self._counted = self._counted, counted_work(body.decode())
        requests, seconds, steps, tokens = (now - then for now, then in zip(self._counted, before, strict=True))
        return EngineWork(requests, seconds, steps, tokens)


def counted_work(metrics: str) -> tuple[float, ...]:
    """Return what vLLM's metrics count of requests, seconds, steps and tokens."""
    sums: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            sums[sample.name] += sample.value
    return tuple(sums[name] for name in METRICS)


def environment(device: str) -> dict[str, str]:
    """Return every program's environment.

    Without a visible GPU vLLM's CUDA build does not start by mistake on a CPU; with one, it numbers GPUs as nvidia-smi does.
    """
    gpus = {"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return {**ENVIRONMENT, **os.environ, **gpus}


def command_line(arguments: Mapping[str, object]) -> list[str]:
    """Return engine arguments as vLLM's own server takes them."""
    options: list[str] = []
    for name, value in arguments.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            options.append(f"--{option}" if value else f"--no-{option}")
        else:
            options += [f"--{option}", json.dumps(value) if isinstance(value, dict) else str(value)]
    return options


class Designs:
    """All designs, which run while the block of :meth:`running` lasts."""

    def __init__(self, folder: Path, catalog: Path, texts: Path, names: Sequence[str]) -> None:
        self.folder = folder
        self._catalog, self._texts = catalog, texts
        self._entry, self._pool = read_entry(catalog), TextPool.read(texts)
        others = {"E": self._pairway, "openai": self._openai}
        self.designs = {name: others[name]() if name in others else self._program(name) for name in names}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Start every design; leave no process behind."""
        starting = asyncio.Semaphore(MAX_STARTING)

        async def start(design: Design) -> None:
            async with starting:
                print(f"starting {design.name}: {TITLES[design.name]}", flush=True)
                ready = running(design.servers, design.is_ready, READY_SECONDS, f"{design.name} is ready")
                await stack.enter_async_context(ready)
                design.find_roles()

        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.TaskGroup() as group:
                for design in self.designs.values():
                    group.create_task(start(design))
            for design in self.designs.values():
                stack.callback(design.signal_engines, signal.SIGCONT)
                design.signal_engines(signal.SIGSTOP)
            yield

    async def load(self, design: Design, plan: PointPlan) -> LoadResult:
        """Send a point's texts to a design; the bare engine sends them to itself."""
        with contextlib.closing(HttpClient(design.url, timeout=PLAN_SECONDS)) as client:
            if design.name == "bare":
                response = await client.post(json.dumps(asdict(plan)).encode())
                return RESULT_JSON.validate_json(response.body)
            is_random = has_random_weights(self._entry)
            sender = http_sender(client, is_openai=design.name == "openai", is_random=is_random)
            return await run_plan(plan, self._pool, sender)

    def _program(self, name: str) -> Design:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", f"benchmarks.origin.designs.{PROGRAMS[name][0]}", *PROGRAMS[name][1:]]
        command += ["--catalog", str(self._catalog), "--port", str(port)]
        if name == "bare":
            command += ["--texts", str(self._texts)]
        server, record = Server(command, self.folder / f"{name}-web.log"), f"{url}/record"
        path = "plan" if name == "bare" else "translate"
        return Design(name, [server], f"{url}/{path}", record, lambda: _is_there(record))

    def _openai(self) -> Design:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--port", str(port)]
        command += [*command_line(engine_arguments(self._entry)), "--disable-uvicorn-access-log"]
        server = Server(command, self.folder / "openai-web.log")
        return Design("openai", [server], f"{url}/v1/completions", f"{url}/metrics", lambda: _is_there(f"{url}/health"))

    def _pairway(self) -> Design:
        redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
        inside, outside = f"http://127.0.0.1:{apiserver_port}", f"http://127.0.0.1:{proxy_port}"
        settings = {**SETTINGS, "APISERVER_CATALOG": str(self._catalog), "APISERVER_PORT": str(apiserver_port)}
        apiserver = python_server("benchmarks.origin.designs.pairway_server", self.folder, settings, "E-apiserver")
        proxy = proxy_server(self.folder, proxy_port, [inside], redis_port, "E-proxy", SETTINGS)
        redis = redis_server(redis_port, self.folder)
        redis.log = self.folder / "E-redis.log"

        def is_ready() -> bool:
            return all(ready_replicas(outside, str(pair)) for pair in self._entry.all_pairs)

        return Design("E", [redis, apiserver, proxy], f"{outside}/translate", f"{inside}/record", is_ready)


def _is_there(url: str) -> bool:
    with contextlib.suppress(OSError):
        http_get(url, 5.0)
        return True
    return False
