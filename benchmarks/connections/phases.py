"""Phases of the connections benchmark: the proxy and its other clients without a group of clients, then with each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psutil

from benchmarks.connections.clients import ClientGroup
from benchmarks.harness.http_load import LoadPlan, LoadProcess
from benchmarks.harness.load import Sample, Stream, failures
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.report import percentile_ms
from benchmarks.harness.texts import TextSource
from benchmarks.harness.waiting import wait_until
from tests.faults.fleet import FaultFleet

BEFORE_SECONDS: Final = 15.0
IDLE_HOLD_SECONDS: Final = 20.0
# Longer than a request may take: a client that is not cut off by then stays.
SLOW_HOLD_SECONDS: Final = 45.0
# How fast the clients come: what opens 10,000 connections or requests 100 documents at once is another test.
IDLE_PER_SECOND: Final = 2000.0
READERS_PER_SECOND: Final = 5.0
WRITERS_PER_SECOND: Final = 20.0
# A group opens within this.
OPEN_SECONDS: Final = 120.0
# What was closed is freed within this, when a sweep or two has passed.
FREED_SECONDS: Final = 20.0
# Until the load's connections and the proxy's code are warm.
WARM_UP_SECONDS: Final = 3.0
MEGABYTE: Final = 1 << 20


@dataclass(frozen=True)
class ProcessState:
    """The proxy at one moment: resident MB, open files, CPU seconds so far."""

    at: float
    rss: float
    files: int
    cpu: float

    @classmethod
    def of(cls, process: psutil.Process) -> ProcessState:
        """Read it now."""
        return cls(time.monotonic(), process.memory_info().rss / MEGABYTE, process.num_fds(), cpu_seconds(process))


@dataclass
class Phase:
    """A time of the run: the load's requests in it, and the proxy at its begin, worst and end."""

    name: str
    begin: ProcessState
    end: ProcessState
    max_rss: float
    max_files: int
    # What the group of clients printed; the proxy after they had gone, and how many of their connections were left.
    clients: dict[str, Any] = field(default_factory=dict[str, Any])
    after: ProcessState | None = None
    left: int = 0
    p50: float = math.nan
    p99: float = math.nan
    requests: int = 0
    failures: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def cpu_percent(self) -> float:
        """The proxy's CPU, percent of a core."""
        return 100 * (self.end.cpu - self.begin.cpu) / (self.end.at - self.begin.at)

    def summarize(self, samples: Sequence[Sample]) -> None:
        """Take the load's requests that were sent in this phase."""
        mine = [sample for sample in samples if self.begin.at <= sample.sent < self.end.at]
        self.requests = len(mine)
        self.failures = failures(mine)
        self.p50 = percentile_ms((sample.seconds for sample in mine), 50)
        self.p99 = percentile_ms((sample.seconds for sample in mine), 99)


async def watch(process: psutil.Process, name: str, until: asyncio.Task[Any]) -> Phase:
    """Return the phase from now until the task ends."""
    begin = latest = ProcessState.of(process)
    rss, files = begin.rss, begin.files
    while not until.done():
        await asyncio.wait([until], timeout=0.5)
        latest = ProcessState.of(process)
        rss, files = max(rss, latest.rss), max(files, latest.files)
    return Phase(name, begin, latest, rss, files)


def connections_from(process: psutil.Process, address: str) -> int:
    """Count the proxy's open connections from a client address."""
    return sum(bool(one.raddr) and one.raddr.ip == address for one in process.net_connections("tcp"))


async def with_clients(process: psutil.Process, name: str, group: ClientGroup) -> Phase:
    """Let a group of clients come and go; the phase begins when it comes and ends when it goes."""
    command = (sys.executable, "-m", "benchmarks.connections.clients", group.to_json())
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    try:
        output = asyncio.create_task(child.stdout.read())
        async with asyncio.timeout(OPEN_SECONDS + group.hold):
            phase = await watch(process, name, output)
        opened, ended = map(json.loads, output.result().splitlines())
        await child.wait()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    phase.clients = {**opened, **ended}
    with contextlib.suppress(AssertionError):
        await wait_until(lambda: not connections_from(process, group.address), FREED_SECONDS)
    phase.left, phase.after = connections_from(process, group.address), ProcessState.of(process)
    print(
        f"{name}: {phase.clients}; {phase.max_rss:.0f} MB, {phase.max_files} files, after it {phase.after}", flush=True
    )
    return phase


async def measure(fleet: FaultFleet, idle: int, slow: int, rate: float) -> list[Phase]:
    """Return all phases: without clients beside the load, then with each group."""
    proxy = fleet.proxy
    process = psutil.Process(proxy.server.pid)
    plan = LoadPlan(
        f"{proxy.url}/translate",
        str(fleet.folder / "load.jsonl"),
        [Stream("load", rate, poisson=False)],
        TextSource(template="Room {}", expected="Room {}"),
        timeout=30.0,
    )
    load = LoadProcess(plan, fleet.folder, "load")
    groups = [
        ClientGroup("documents", slow // 2, READERS_PER_SECOND, proxy.port, "127.0.0.4", SLOW_HOLD_SECONDS),
        ClientGroup("translations", slow - slow // 2, READERS_PER_SECOND, proxy.port, "127.0.0.5", SLOW_HOLD_SECONDS),
        ClientGroup("heads", slow // 2, WRITERS_PER_SECOND, proxy.port, "127.0.0.6", SLOW_HOLD_SECONDS),
        ClientGroup("bodies", slow - slow // 2, WRITERS_PER_SECOND, proxy.port, "127.0.0.7", SLOW_HOLD_SECONDS),
        ClientGroup("silent", idle, IDLE_PER_SECOND, proxy.port, "127.0.0.2", IDLE_HOLD_SECONDS),
        ClientGroup("kept", idle, IDLE_PER_SECOND, proxy.port, "127.0.0.3", IDLE_HOLD_SECONDS),
    ]
    await load.start()
    try:
        await asyncio.sleep(WARM_UP_SECONDS)
        phases = [await watch(process, "load alone", asyncio.create_task(asyncio.sleep(BEFORE_SECONDS)))]
        phases += [await with_clients(process, f"{group.count} {group.kind}", group) for group in groups]
        phases += [await watch(process, "load alone again", asyncio.create_task(asyncio.sleep(BEFORE_SECONDS)))]
    finally:
        samples = (await load.stop()).samples
    for phase in phases:
        phase.summarize(samples)
    return phases
