"""The designs as running processes: their start, what their engines and CPUs did, their memory."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from apiserver.engine.vllm_engine import ENVIRONMENT
from benchmarks.harness.processes import ROOT, Server, free_port, http_get, proxy_server, python_server, redis_server
from benchmarks.harness.waiting import wait_until
from benchmarks.origin.load_driver import PlanProcess, PointLoad, PointPlan
from benchmarks.origin.workload.model import command_line, engine_arguments, read_entry

# vLLM is imported and the model loaded within this, with as many others beside it.
READY_SECONDS: Final = 400.0
MAX_STARTING: Final = 2
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
# Nothing is refused, whatever the rate: every design has all of a point's texts in hand.
UNLIMITED_ADMISSION: Final = {"APISERVER_QUEUE_SECONDS": "30", "APISERVER_MAX_WAITING": "100000"}
# No server writes a line for each request.
QUIET: Final = {"APISERVER_LOG_LEVEL": "warning", "PROXY_LOG_LEVEL": "warning"}


@dataclass
class Design:
    """One of them; ``roles`` are its processes, known when it has started.

    ``url`` takes the texts; ``record`` is asked for what the engine did, ``metrics`` for vLLM's own counters.
    """

    name: str
    servers: list[Server] = field(default_factory=list[Server])
    url: str = ""
    ready: str = ""
    record: str = ""
    metrics: str = ""
    roles: list[tuple[str, psutil.Process]] = field(default_factory=list[tuple[str, psutil.Process]])

    def find_roles(self, firsts: Sequence[tuple[str, int]]) -> None:
        """Note every process, from the first one of each server on."""
        for role, pid in firsts:
            first = psutil.Process(pid)
            self.roles.append((role, first))
            self.roles += [(role_of(child), child) for child in first.children(recursive=True)]

    def cpu(self) -> Counter[str]:
        """Return the CPU seconds so far by role."""
        seconds: Counter[str] = Counter()
        for role, process in self.roles:
            times = process.cpu_times()
            seconds[role] += times.user + times.system  # pyright: ignore[reportArgumentType] - Counter's values may be floats
        return seconds

    def pause(self) -> None:
        """Stop the engines, whose native threads take 2 % of a core even when there is nothing to do.

        Pairway's is let be: it would be taken for one that hangs.
        """
        if self.name != "E":
            self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the engines run again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for role, process in self.roles:
            if role == "engine":
                process.send_signal(number)

    def memory(self) -> dict[str, float]:
        """Return the proportional set size by role, MiB."""
        mebibytes: dict[str, float] = {}
        for role, process in self.roles:
            mebibytes[role] = mebibytes.get(role, 0.0) + process.memory_full_info().pss / 2**20
        return mebibytes


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
    """All designs; use :func:`running_designs`."""

    def __init__(self, folder: Path, catalog: Path, texts: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._catalog = catalog
        self._texts = texts
        self._environment = environment
        self._starting = asyncio.Semaphore(MAX_STARTING)
        self.designs: dict[str, Design] = {}
        self._clients: dict[str, PlanProcess] = {}

    async def start(self, names: Sequence[str], stack: AsyncExitStack) -> None:
        """Start them, and the generator."""
        self._clients["generator"] = await self._start_client(stack, "http_clients", str(self._texts))
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(self._start(name, stack))
        self.designs = {name: self.designs[name] for name in names}
        for design in self.designs.values():
            stack.callback(design.resume)
            design.pause()

    async def load(self, name: str, plan: PointPlan) -> PointLoad:
        """Send a point's texts to one of them."""
        return await self._clients.get(name, self._clients["generator"]).run(plan)

    async def _start(self, name: str, stack: AsyncExitStack) -> None:
        async with self._starting:
            print(f"starting {name}: {TITLES[name]}", flush=True)
            if name == "bare":
                await self._start_bare(stack)
                return
            design = self._define(name)
            for server in design.servers:
                stack.callback(server.stop)
                server.start()
            await wait_until(
                lambda: _is_ready(design.ready), READY_SECONDS, f"{name} is ready; logs are in {self.folder}"
            )
            firsts = [(server.log.stem.rpartition("-")[2], server.pid) for server in design.servers]
            design.find_roles(firsts)
            self.designs[name] = design

    async def _start_bare(self, stack: AsyncExitStack) -> None:
        arguments = ("--catalog", str(self._catalog), "--texts", str(self._texts))
        client = self._clients["bare"] = await self._start_client(stack, "designs.bare_engine", *arguments)
        await asyncio.wait_for(client.ready(), READY_SECONDS)
        design = self.designs["bare"] = Design("bare")
        design.find_roles([("web", client.pid)])

    async def _start_client(self, stack: AsyncExitStack, module: str, *arguments: str) -> PlanProcess:
        log = stack.enter_context((self.folder / f"{module.rpartition('.')[2]}.log").open("ab"))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", f"benchmarks.origin.{module}", *arguments),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=dict(self._environment),
            start_new_session=True,
        )
        stack.push_async_callback(_end_process, process)
        return PlanProcess(process)

    def _define(self, name: str) -> Design:
        if name == "E":
            return self._pairway()
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        log = self.folder / f"{name}-web.log"
        if name == "openai":
            options = command_line(engine_arguments(read_entry(self._catalog)))
            command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--port", str(port), *options]
            server = Server([*command, "--disable-uvicorn-access-log"], log, self._environment)
            metrics = f"{url}/metrics"
            return Design(name, [server], f"{url}/v1/completions", f"{url}/health", metrics=metrics)
        program = {
            "A": ("queue_service",),
            "B": ("queue_service", "--workers", "2"),
            "C": ("queue_service", "--batch", "16"),
            "D": ("async_engine",),
            "F": ("async_engine", "--engines", "2"),
        }[name]
        command = [sys.executable, "-m", f"benchmarks.origin.designs.{program[0]}", *program[1:]]
        server = Server([*command, "--catalog", str(self._catalog), "--port", str(port)], log, self._environment)
        return Design(name, [server], f"{url}/translate", f"{url}/readyz", f"{url}/record")

    def _pairway(self) -> Design:
        redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
        folder = self.folder / "E"
        folder.mkdir(exist_ok=True)
        own = {"APISERVER_CATALOG": str(self._catalog), "APISERVER_PORT": str(apiserver_port)}
        api = {**self._environment, **UNLIMITED_ADMISSION, **QUIET, **own}
        apiserver = python_server("benchmarks.origin.designs.pairway_server", folder, api, "E-apiserver")
        inside, outside = f"http://127.0.0.1:{apiserver_port}", f"http://127.0.0.1:{proxy_port}"
        settings = {**self._environment, **QUIET}
        proxy = proxy_server(folder, proxy_port, [inside], redis_port, "E-proxy", settings)
        redis = redis_server(redis_port, folder)
        redis.log = folder / "E-redis.log"
        urls = (f"{outside}/translate", f"{outside}/health", f"{inside}/record", f"{inside}/metrics")
        return Design("E", [redis, apiserver, proxy], *urls)


def _is_ready(url: str) -> bool:
    """Whether a server is ready; a proxy is when its pairs are."""
    try:
        body = http_get(url, 5.0)
    except OSError:
        return False
    health: dict[str, Any] = json.loads(body) if body and url.endswith("/health") else {}
    return all(pair["ready"] for pair in health.get("pairs", {}).values())


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """Let a process come to its end by itself, else end it."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), 15)
    except TimeoutError:
        process.kill()
        await process.wait()


@asynccontextmanager
async def running_designs(fleet: Designs, names: Sequence[str]) -> AsyncGenerator[Designs]:
    """Start every design; leave no process behind."""
    async with AsyncExitStack() as stack:
        await fleet.start(names, stack)
        yield fleet
