"""Connections that are a burden: what slow, silent and hostile clients do to a proxy and to its other clients.

    make bench-connections                            # about 5 minutes
    python -m benchmarks.connections --hold 5 --kinds heads,silent --out .run/connections

A Redis, a proxy and a replica that answers after 20 ms, all real processes; the load and the clients (clients.py) are
processes too, each group of clients with an address of its own. Exit status 1 when a target is missed.
The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

from benchmarks.connections.clients import KINDS, ClientGroup
from benchmarks.harness.http_load import LoadPlan, LoadProcess
from benchmarks.harness.load import Sample, Stream, failures
from benchmarks.harness.processes import (
    Server,
    cpu_seconds,
    free_port,
    proxy_server,
    ready_replicas,
    redis_server,
    running,
)
from benchmarks.harness.program import add_names, allow_open_files, options_parser, run_guarded
from benchmarks.harness.replicas import TRANSLATION, SimulatedFleet
from benchmarks.harness.report import NONE, Checks, RunFolder, percentile_ms, table
from benchmarks.harness.texts import TextSource
from benchmarks.harness.waiting import wait_until

READY_SECONDS: Final = 30.0
# What the servers of the demo take for a short text.
DELAY_SECONDS: Final = 0.02
BEFORE_SECONDS: Final = 15.0
# A group opens within this; what was closed is freed within that.
OPEN_SECONDS: Final = 120.0
FREED_SECONDS: Final = 20.0
# Until the load's connections and the proxy's code are warm.
WARM_UP_SECONDS: Final = 3.0
LOOK_SECONDS: Final = 0.5
MEGABYTE: Final = 1 << 20
# What docker compose gives a proxy (PAIRWAY_PROXY_MEMORY).
MAX_MEMORY_MB: Final = 512
MAX_P95_RATIO: Final = 1.5
HEADINGS: Final = (
    *("clients", "open", "closed by the proxy", "p50 / p95 / p99 ms", "failed"),
    *("proxy CPU", "proxy MB, most", "open files, most", "MB after"),
)


class ProcessState(NamedTuple):
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
    """A time of the run: the proxy in it and after it, what the clients printed, and the load's requests."""

    name: str
    states: list[ProcessState]
    clients: dict[str, Any] = field(default_factory=dict[str, Any])
    after: ProcessState | None = None
    left: int = 0
    # p50, p95, p99.
    latencies: list[float] = field(default_factory=list[float])
    requests: int = 0
    failures: dict[str, int] = field(default_factory=dict[str, int])

    def summarize(self, samples: Sequence[Sample]) -> None:
        """Take the load's requests that were sent in this phase."""
        mine = [sample for sample in samples if self.states[0].at <= sample.sent < self.states[-1].at]
        self.requests, self.failures = len(mine), failures(mine)
        self.latencies = [percentile_ms((sample.seconds for sample in mine), percent) for percent in (50, 95, 99)]

    @property
    def megabytes(self) -> float:
        """Most memory of the proxy."""
        return max(state.rss for state in self.states)

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table."""
        first, last, clients = self.states[0], self.states[-1], self.clients
        return (
            self.name,
            clients.get("open", NONE),
            clients.get("closed", NONE),
            " / ".join(f"{latency:.0f}" for latency in self.latencies),
            f"{sum(self.failures.values())} of {self.requests}",
            f"{100 * (last.cpu - first.cpu) / (last.at - first.at):.0f} %",
            f"{self.megabytes:.0f}",
            f"{max(state.files for state in self.states)}",
            f"{self.after.rss:.0f}" if self.after else NONE,
        )


def judge(phases: Sequence[Phase]) -> Checks:
    """Check that nobody else feels the clients, that memory is bounded, and that what was closed is freed."""
    checks = Checks()
    # The better of the two: a machine that was busy with something else is no excuse.
    alone = min(phases[0].latencies[1], phases[-1].latencies[1])
    for phase in phases[1:-1]:
        failed = 100 * sum(phase.failures.values()) / max(1, phase.requests)
        checks.at_most(f"{phase.name}: the others' requests that failed", failed, 0, " %")
        checks.at_most(f"{phase.name}: their p95, of that alone", phase.latencies[1] / alone, MAX_P95_RATIO)
        checks.at_most(f"{phase.name}: memory of the proxy", phase.megabytes, MAX_MEMORY_MB, " MB")
        checks.at_most(f"{phase.name}: connections left after it", phase.left, 0)
        if phase.name.endswith("smuggled requests"):
            checks.at_most(f"{phase.name}: answers on one connection", phase.clients["most_answers"], 1)
    return checks


async def watch(process: psutil.Process, name: str, until: asyncio.Task[Any]) -> Phase:
    """Return the phase from now until the task ends."""
    states = [ProcessState.of(process)]
    while not until.done():
        await asyncio.wait([until], timeout=LOOK_SECONDS)
        states.append(ProcessState.of(process))
    return Phase(name, states)


async def without_clients(process: psutil.Process, name: str) -> Phase:
    """Return a phase without clients."""
    return await watch(process, name, asyncio.create_task(asyncio.sleep(BEFORE_SECONDS)))


async def with_clients(process: psutil.Process, group: ClientGroup, out: Path) -> Phase:
    """Let a group of clients come and go; the phase begins when it comes and ends when it goes."""
    command = [sys.executable, "-m", "benchmarks.connections.clients", json.dumps(asdict(group))]
    clients = Server(command, out / f"clients-{group.address}.log")
    try:
        clients.start()
        async with asyncio.timeout(OPEN_SECONDS + group.hold):
            phase = await watch(process, f"{group.count} {group.kind}", asyncio.create_task(clients.wait()))
    finally:
        clients.stop()
    phase.clients = json.loads(clients.tail(1))

    def connections() -> int:
        return sum(bool(one.raddr) and one.raddr.ip == group.address for one in process.net_connections("tcp"))

    with contextlib.suppress(AssertionError):
        await wait_until(lambda: not connections(), FREED_SECONDS)
    phase.left, phase.after = connections(), ProcessState.of(process)
    return phase


async def measure(out: Path, options: argparse.Namespace) -> list[Phase]:
    """Return all phases: without clients beside the load, then with each group, and without again."""
    redis_port, proxy_port = free_port(), free_port()
    fleet, url = SimulatedFleet(free_port(), 1, delay=DELAY_SECONDS), f"http://127.0.0.1:{proxy_port}"
    proxy = proxy_server(out, proxy_port, fleet.urls(), redis_port, "proxy")
    servers = [redis_server(redis_port, out), fleet.server(out), proxy]
    texts, stream = TextSource(template="Room {}", expected=TRANSLATION), Stream("load", options.rate, poisson=False)
    sending = LoadProcess(LoadPlan(f"{url}/translate", [stream], texts, timeout=30.0), out, "load")
    async with running(servers, lambda: ready_replicas(url, "en-de"), READY_SECONDS), sending.running() as load:
        process = psutil.Process(proxy.pid)
        await asyncio.sleep(WARM_UP_SECONDS)
        phases = [await without_clients(process, "load alone")]
        for number, kind in enumerate(options.kinds):
            group = ClientGroup(kind, KINDS[kind].count, proxy_port, f"127.0.0.{2 + number}", options.hold)
            phases.append(await with_clients(process, group, out))
            print(f"{phases[-1].name}: {phases[-1].clients}", flush=True)
        phases.append(await without_clients(process, "load alone again"))
        samples = (await load.stop()).samples
    for phase in phases:
        phase.summarize(samples)
    return phases


def main() -> int:
    """Measure, write, print."""
    parser = options_parser("connections", "Slow and hostile clients.")
    add_names(parser, "--kinds", list(KINDS))
    parser.add_argument("--hold", type=float, default=25.0, help="seconds that a kind stays")
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second beside")
    options = parser.parse_args()
    files, folder = allow_open_files(), RunFolder(options.out)
    phases = run_guarded(measure(folder.path, options))
    note = f"load of {options.rate:g} requests/s, at most {files} open files for each process"
    rows = table(HEADINGS, (phase.cells() for phase in phases))
    return folder.publish("Connections", note, rows, {"phases": list(map(asdict, phases))}, judge(phases))


if __name__ == "__main__":
    sys.exit(main())
