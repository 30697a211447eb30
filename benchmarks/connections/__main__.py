"""Connections that are a burden: what slow, silent and hostile clients do to a proxy and to its other clients.

    make bench-connections                            # about 5 minutes
    make bench-connections HOLD=5 KINDS=heads,edge

The last group comes to the edge, nginx, in front of that proxy (--nginx PROGRAM).

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

from benchmarks.connections.clients import EDGE_KINDS, KINDS, ClientGroup
from benchmarks.connections.edge import Edge
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
# Those of the edge have addresses of their own.
EDGE_ADDRESS: Final = "127.0.1.1"
EDGE_ADDRESSES: Final = 50
EDGE: Final = "edge"
EDGE_LOAD: Final = "load alone, through the edge"
# What docker compose gives the edge, less its folder (PAIRWAY_EDGE_MEMORY, PAIRWAY_EDGE_BODIES_MB).
MAX_EDGE_MEMORY_MB: Final = 128
MAX_P95_RATIO: Final = 1.5
CLIENT_CELLS: Final = ("open", "closed")
HEADINGS: Final = (
    *("clients", "open", "closed by the server", "p50 / p95 / p99 ms", "failed"),
    *("server CPU", "server MB, most", "open files, most", "MB after"),
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
    server, megabytes = ("edge", MAX_EDGE_MEMORY_MB) if phases[0].name == EDGE_LOAD else ("proxy", MAX_MEMORY_MB)
    for phase in phases[1:-1]:
        failed = 100 * sum(phase.failures.values()) / max(1, phase.requests)
        checks.at_most(f"{phase.name}: the others' requests that failed", failed, 0, " %")
        checks.at_most(f"{phase.name}: their p95, of that alone", phase.latencies[1] / alone, MAX_P95_RATIO)
        checks.at_most(f"{phase.name}: memory of the {server}", phase.megabytes, megabytes, " MB")
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


async def without_clients(process: psutil.Process, name: str, hold: float) -> Phase:
    """Return a phase without clients, not longer than those with."""
    return await watch(process, name, asyncio.create_task(asyncio.sleep(min(BEFORE_SECONDS, hold))))


async def ended(all_clients: Sequence[Server]) -> None:
    """Return when all these processes have ended."""
    for clients in all_clients:
        await clients.wait()


async def with_clients(process: psutil.Process, out: Path, *groups: ClientGroup) -> Phase:
    """Let groups of clients come and go; the phase begins when they come and ends when they go."""
    all_clients = [
        Server(
            [sys.executable, "-m", "benchmarks.connections.clients", json.dumps(asdict(group))],
            out / f"clients-{group.address}-{group.kind}.log",
        )
        for group in groups
    ]
    name = " and ".join(f"{group.count} {group.kind}" for group in groups)
    try:
        for clients in all_clients:
            clients.start()
        async with asyncio.timeout(OPEN_SECONDS + groups[0].hold):
            phase = await watch(process, name, asyncio.create_task(ended(all_clients)))
    finally:
        for clients in all_clients:
            clients.stop()
    found = [json.loads(clients.tail(1)) for clients in all_clients]
    phase.clients = (
        found[0] if len(found) == 1 else {key: "; ".join(each[key] for each in found) for key in CLIENT_CELLS}
    )
    addresses = {address for group in groups for address in group.all_addresses()}

    def connections() -> int:
        return sum(bool(one.raddr) and one.raddr.ip in addresses for one in process.net_connections("tcp"))

    with contextlib.suppress(AssertionError):
        await wait_until(lambda: not connections(), FREED_SECONDS)
    phase.left, phase.after = connections(), ProcessState.of(process)
    return phase


async def measure_edge(out: Path, options: argparse.Namespace) -> list[Phase]:
    """Return the phases of the edge, its proxy's load beside slow readers and slow writers of many addresses."""
    redis_port, proxy_port = free_port(), free_port()
    fleet = SimulatedFleet(free_port(), 1, delay=DELAY_SECONDS)
    settings = {"PROXY_TRUSTED_PROXIES": "127.0.0.1"}
    proxy = proxy_server(out, proxy_port, fleet.urls(), redis_port, "edge-proxy", settings)
    edge = Edge(options.nginx, out / "edge", ["127.0.0.1"], proxy_port)
    servers = [redis_server(redis_port, out), fleet.server(out), proxy, edge.server]
    texts, stream = TextSource(template="Room {}", expected=TRANSLATION), Stream("load", options.rate, poisson=False)
    sending = LoadProcess(LoadPlan(f"{edge.url}/translate", [stream], texts, timeout=30.0), out, "edge-load")
    url = f"http://127.0.0.1:{proxy_port}"
    groups = [
        ClientGroup(kind, behaviour.count, edge.port, EDGE_ADDRESS, options.hold, EDGE_ADDRESSES)
        for kind, behaviour in EDGE_KINDS.items()
    ]
    async with (
        edge.names(),
        running(servers, lambda: ready_replicas(url, "en-de"), READY_SECONDS),
        sending.running() as load,
    ):
        worker = edge.worker()
        await asyncio.sleep(WARM_UP_SECONDS)
        phases = [await without_clients(worker, EDGE_LOAD, options.hold)]
        phases.append(await with_clients(worker, out, *groups))
        phases.append(await without_clients(worker, f"{EDGE_LOAD}, again", options.hold))
        samples = (await load.stop()).samples
    for phase in phases:
        phase.summarize(samples)
    return phases


async def measure(out: Path, kinds: Sequence[str], options: argparse.Namespace) -> list[Phase]:
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
        phases = [await without_clients(process, "load alone", options.hold)]
        for number, kind in enumerate(kinds):
            group = ClientGroup(kind, KINDS[kind].count, proxy_port, f"127.0.0.{2 + number}", options.hold)
            phases.append(await with_clients(process, out, group))
            print(f"{phases[-1].name}: {phases[-1].clients}", flush=True)
        phases.append(await without_clients(process, "load alone again", options.hold))
        samples = (await load.stop()).samples
    for phase in phases:
        phase.summarize(samples)
    return phases


def main() -> int:
    """Measure, write, print."""
    parser = options_parser("connections", "Slow and hostile clients.")
    add_names(parser, "--kinds", [*KINDS, EDGE])
    parser.add_argument("--hold", type=float, default=25.0, help="seconds that a kind stays")
    parser.add_argument("--nginx", type=Path, required=True, help="the program of the edge")
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second beside")
    options = parser.parse_args()
    files, folder = allow_open_files(), RunFolder(options.out)
    kinds = [kind for kind in options.kinds if kind != EDGE]
    measured = [run_guarded(measure(folder.path, kinds, options))] if kinds else []
    if EDGE in options.kinds:
        measured.append(run_guarded(measure_edge(folder.path, options)))
    note = f"load of {options.rate:g} requests/s, at most {files} open files for each process"
    everything = [phase for phases in measured for phase in phases]
    rows = table(HEADINGS, (phase.cells() for phase in everything))
    checks = Checks([check for phases in measured for check in judge(phases)])
    return folder.publish("Connections", note, rows, {"phases": list(map(asdict, everything))}, checks)


if __name__ == "__main__":
    sys.exit(main())
