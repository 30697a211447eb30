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
import math
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

from benchmarks.connections.clients import ClientGroup
from benchmarks.harness.http_load import LoadPlan, LoadProcess, running_load
from benchmarks.harness.load import Sample, Stream, failures
from benchmarks.harness.processes import (
    cpu_seconds,
    free_port,
    proxy_server,
    ready_replicas,
    redis_server,
    running,
)
from benchmarks.harness.replicas import TRANSLATION, SimulatedFleet
from benchmarks.harness.report import NONE, Checks, RunFolder, percentile_ms, table, target_table
from benchmarks.harness.texts import TextSource
from benchmarks.harness.waiting import wait_until
from shared.runtime.process_guard import ProcessGuard

GRACE_SECONDS: Final = 10.0
READY_SECONDS: Final = 30.0
# What the servers of the demo take for a short text.
DELAY_SECONDS: Final = 0.02
# How many come of each kind, and how many of them in a second.
GROUPS: Final = {
    "heads": (1500, 500.0),
    "bodies": (500, 250.0),
    "silent": (3000, 1000.0),
    "readers of nothing": (300, 5.0),
    "pipelines": (100, 20.0),
    "heads of 200 kB": (100, 20.0),
    "heads of 10,000 lines": (100, 20.0),
    "smuggled requests": (120, 24.0),
}
BEFORE_SECONDS: Final = 15.0
# A group opens within this; what was closed is freed within that.
OPEN_SECONDS: Final = 120.0
FREED_SECONDS: Final = 20.0
# Until the load's connections and the proxy's code are warm.
WARM_UP_SECONDS: Final = 3.0
MEGABYTE: Final = 1 << 20
# What docker compose gives a proxy (PAIRWAY_PROXY_MEMORY).
MAX_MEMORY_MB: Final = 512
MAX_P95_RATIO: Final = 1.5
HEADINGS: Final = (
    "clients",
    "open",
    "closed by the proxy",
    "p50 / p95 / p99 ms",
    "failed",
    "proxy CPU",
    "proxy MB, most",
    "open files, most",
    "MB after",
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
    latencies: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    requests: int = 0
    failures: dict[str, int] = field(default_factory=dict[str, int])

    def summarize(self, samples: Sequence[Sample]) -> None:
        """Take the load's requests that were sent in this phase."""
        mine = [sample for sample in samples if self.states[0].at <= sample.sent < self.states[-1].at]
        seconds = [sample.seconds for sample in mine]
        self.requests, self.failures = len(mine), failures(mine)
        self.latencies = (percentile_ms(seconds, 50), percentile_ms(seconds, 95), percentile_ms(seconds, 99))

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table."""
        first, last, clients = self.states[0], self.states[-1], self.clients
        return (
            self.name,
            f"{clients['open']} in {clients['seconds']:.1f} s" if clients else NONE,
            self._closed() if clients else NONE,
            " / ".join(f"{latency:.0f}" for latency in self.latencies),
            f"{sum(self.failures.values())} of {self.requests}",
            f"{100 * (last.cpu - first.cpu) / (last.at - first.at):.0f} %",
            f"{max(state.rss for state in self.states):.0f}",
            f"{max(state.files for state in self.states)}",
            f"{self.after.rss:.0f}" if self.after else NONE,
        )

    def _closed(self) -> str:
        clients = self.clients
        lasted = " / ".join(f"{seconds:.1f}" for seconds in clients["closed_after"])
        statuses = ", ".join(f"{status}: {count}" for status, count in clients["statuses"].items())
        closed = f"{clients['closed']}{f' after {lasted} s' if lasted else ''}"
        return f"{closed} (answered {statuses}, after {clients['answered_after']:.1f} s)" if statuses else closed


def judge(phases: Sequence[Phase]) -> Checks:
    """Check that nobody else feels the clients, that memory is bounded, and that what was closed is freed."""
    checks = Checks()
    # The better of the two: a machine that was busy with something else is no excuse.
    alone = min(phases[0].latencies[1], phases[-1].latencies[1])
    for phase in phases[1:-1]:
        failed = 100 * sum(phase.failures.values()) / max(1, phase.requests)
        checks.at_most(f"{phase.name}: the others' requests that failed", failed, 0, " %")
        checks.at_most(f"{phase.name}: their p95, of that alone", phase.latencies[1] / alone, MAX_P95_RATIO)
        checks.at_most(
            f"{phase.name}: memory of the proxy", max(state.rss for state in phase.states), MAX_MEMORY_MB, " MB"
        )
        checks.at_most(f"{phase.name}: connections left after it", phase.left, 0)
        if phase.name.endswith("smuggled requests"):
            checks.at_most(f"{phase.name}: answers on one connection", phase.clients["most_answers"], 1)
    return checks


async def watch(process: psutil.Process, name: str, until: asyncio.Task[Any]) -> Phase:
    """Return the phase from now until the task ends."""
    states = [ProcessState.of(process)]
    while not until.done():
        await asyncio.wait([until], timeout=0.5)
        states.append(ProcessState.of(process))
    return Phase(name, states)


def connections_from(process: psutil.Process, address: str) -> int:
    """Count the proxy's open connections from a client address."""
    return sum(bool(one.raddr) and one.raddr.ip == address for one in process.net_connections("tcp"))


async def with_clients(process: psutil.Process, group: ClientGroup) -> Phase:
    """Let a group of clients come and go; the phase begins when it comes and ends when it goes."""
    command = (sys.executable, "-m", "benchmarks.connections.clients", json.dumps(asdict(group)))
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        output = asyncio.create_task(child.communicate())
        async with asyncio.timeout(OPEN_SECONDS + group.hold):
            phase = await watch(process, f"{group.count} {group.kind}", output)
        opened, ended = map(json.loads, output.result()[0].splitlines())
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    phase.clients = {**opened, **ended}
    with contextlib.suppress(AssertionError):
        await wait_until(lambda: not connections_from(process, group.address), FREED_SECONDS)
    phase.left, phase.after = connections_from(process, group.address), ProcessState.of(process)
    print(f"{' | '.join(phase.cells())}", flush=True)
    return phase


async def measure(process: psutil.Process, groups: Sequence[ClientGroup], sending: LoadProcess) -> list[Phase]:
    """Return all phases: without clients beside the load, then with each group, and without again."""
    async with running_load(sending) as load:
        await asyncio.sleep(WARM_UP_SECONDS)
        phases = [await watch(process, "load alone", asyncio.create_task(asyncio.sleep(BEFORE_SECONDS)))]
        phases += [await with_clients(process, group) for group in groups]
        phases += [await watch(process, "load alone again", asyncio.create_task(asyncio.sleep(BEFORE_SECONDS)))]
        samples = (await load.stop()).samples
    for phase in phases:
        phase.summarize(samples)
    return phases


async def start_and_measure(out: Path, kinds: Sequence[str], hold: float, rate: float) -> list[Phase]:
    """Start everything, measure, stop everything."""
    redis_port, proxy_port = free_port(), free_port()
    fleet = SimulatedFleet((free_port(),), 1, delay=DELAY_SECONDS)
    url = f"http://127.0.0.1:{proxy_port}"
    proxy = proxy_server(out, proxy_port, fleet.urls(), redis_port, "proxy")
    groups = [
        ClientGroup(kind, *GROUPS[kind], proxy_port, f"127.0.0.{2 + number}", hold) for number, kind in enumerate(kinds)
    ]
    servers = [redis_server(redis_port, out), fleet.server(out), proxy]
    texts = TextSource(template="Room {}", expected=TRANSLATION)
    stream = Stream("load", rate, poisson=False)
    plan = LoadPlan(f"{url}/translate", str(out / "load.json"), [stream], texts, timeout=30.0)
    async with running(servers, lambda: ready_replicas(url, "en-de"), READY_SECONDS):
        return await measure(psutil.Process(proxy.pid), groups, LoadProcess(plan, out, "load"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.connections", description="Slow and hostile clients.")
    parser.add_argument("--kinds", default="", help=f"comma-separated (default: all): {', '.join(GROUPS)}")
    parser.add_argument("--hold", type=float, default=25.0, help="seconds that a kind stays (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second beside (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/connections"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    kinds: list[str] = options.kinds.split(",") if options.kinds else list(GROUPS)
    if unknown := set(kinds) - set(GROUPS):
        raise SystemExit(f"connections: no kind {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the proxy and the clients inherit it
    folder = RunFolder(options.out)
    with ProcessGuard("PAIRWAY_CONNECTIONS", GRACE_SECONDS):
        phases = asyncio.run(start_and_measure(folder.path, kinds, options.hold, options.rate))
    checks = judge(phases)
    machine = (
        f"{folder.machine}; load of {options.rate:g} requests/s, at most {hard} open files for each process "
        f"(the usual soft limit here is {soft})."
    )
    rows = table(HEADINGS, (phase.cells() for phase in phases))
    results = {"machine": machine, "phases": list(map(asdict, phases)), "targets": list(map(vars, checks))}
    report = "\n".join(["# Connections", "", machine, "", *rows, "", *target_table(checks), ""])
    return folder.write(report, results, checks)


if __name__ == "__main__":
    sys.exit(main())
