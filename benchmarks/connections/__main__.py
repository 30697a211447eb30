"""Connections that are a burden: what 10,000 idle ones, 200 slow readers and 200 slow writers do to a proxy and its clients.

    make bench-connections                            # about 4 minutes
    python -m benchmarks.connections --idle 10000 --slow 200 --rate 50 --out .run/connections

A Redis, a proxy and an API server with a scripted engine, all real processes; the crowds (connections_crowd.py) and the load
(tests/faults/load.py) are processes too, each crowd with an address of its own. Exit status 1 when a target is missed.
The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import resource
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from benchmarks.connections.clients import Crowd
from shared.runtime.process_guard import ProcessGuard
from shared.version import VERSION
from tests.faults import outcomes
from tests.faults.load import LoadProcess, Plan
from tests.faults.result import Result
from tests.faults.scene import Scene, Setting, staged
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.outcomes import Outcome

BEFORE_SECONDS: Final = 15.0
IDLE_HOLD_SECONDS: Final = 20.0
# Longer than a request may take: who is not cut off by then is let be.
SLOW_HOLD_SECONDS: Final = 45.0
# How fast the crowds come: what opens 10,000 connections or asks for 100 documents at once is another test.
IDLE_PER_SECOND: Final = 2000.0
READERS_PER_SECOND: Final = 5.0
WRITERS_PER_SECOND: Final = 20.0
# A crowd opens within this.
OPEN_SECONDS: Final = 120.0
# What was closed is freed within this, when a sweep or two has passed.
FREED_SECONDS: Final = 20.0
MEGABYTE: Final = 1 << 20
# What docker compose gives a proxy (PAIRWAY_PROXY_MEMORY).
MOST_MEMORY: Final = 512
MOST_P99_RATIO: Final = 2.0
GRACE_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Look:
    """The proxy at one moment: resident MB, open files, CPU seconds so far."""

    at: float
    rss: float
    files: int
    cpu: float

    @classmethod
    def of(cls, process: psutil.Process) -> Look:
        """Look now."""
        times = process.cpu_times()
        return cls(time.monotonic(), process.memory_info().rss / MEGABYTE, process.num_fds(), times.user + times.system)


@dataclass
class Phase:
    """A time of the run: the load's requests in it, and the proxy at its begin, worst and end."""

    name: str
    begin: Look
    end: Look
    rss: float
    files: int
    # Of the crowd: what it said when it was open and at its end; the proxy after it had gone, and what it left.
    crowd: dict[str, Any] = field(default_factory=dict[str, Any])
    after: Look | None = None
    left: int = 0
    p50: float = math.nan
    p99: float = math.nan
    requests: int = 0
    failures: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def cpu_percent(self) -> float:
        """The proxy's CPU, percent of a core."""
        return 100 * (self.end.cpu - self.begin.cpu) / (self.end.at - self.begin.at)

    def judge(self, sent: Sequence[Outcome]) -> None:
        """Take what the load saw."""
        mine = outcomes.between(sent, self.begin.at, self.end.at)
        self.requests = len(mine)
        self.failures = outcomes.failures(mine)
        self.p50 = 1000 * outcomes.percentile(mine, 50)
        self.p99 = 1000 * outcomes.percentile(mine, 99)


async def watched(process: psutil.Process, name: str, until: asyncio.Task[Any]) -> Phase:
    """Return what the load and the proxy are to be judged by from now until the task ends."""
    begin = latest = Look.of(process)
    rss, files = begin.rss, begin.files
    while not until.done():
        await asyncio.wait([until], timeout=0.5)
        latest = Look.of(process)
        rss, files = max(rss, latest.rss), max(files, latest.files)
    return Phase(name, begin, latest, rss, files)


def from_address(process: psutil.Process, address: str) -> int:
    """Count the proxy's open connections from a client address."""
    return sum(bool(one.raddr) and one.raddr.ip == address for one in process.net_connections("tcp"))


async def visited(process: psutil.Process, name: str, crowd: Crowd) -> Phase:
    """Let a crowd come, stay and go; the phase begins when it comes and ends when it goes."""
    command = (sys.executable, "-m", "benchmarks.connections.clients", crowd.as_json())
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    try:
        staying = asyncio.create_task(child.stdout.read())
        async with asyncio.timeout(OPEN_SECONDS + crowd.hold):
            phase = await watched(process, name, staying)
        opened, ended = map(json.loads, staying.result().splitlines())
        await child.wait()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    phase.crowd = {**opened, **ended}
    with contextlib.suppress(AssertionError):
        await wait_until(lambda: not from_address(process, crowd.address), FREED_SECONDS)
    phase.left, phase.after = from_address(process, crowd.address), Look.of(process)
    print(f"{name}: {phase.crowd}; {phase.rss:.0f} MB, {phase.files} files, after it {phase.after}", flush=True)
    return phase


async def measure(scene: Scene, idle: int, slow: int, rate: float) -> list[Phase]:
    """Return all phases: without a crowd, then with each."""
    proxy = scene.proxy
    process = psutil.Process(proxy.server.pid)
    plan = Plan(
        f"{proxy.url}/translate", str(scene.folder / "load.jsonl"), "load", rate, "Room {}", "Room {}", limit=30.0
    )
    load = LoadProcess(plan, scene.folder)
    crowds = [
        Crowd("documents", slow // 2, READERS_PER_SECOND, proxy.port, "127.0.0.4", SLOW_HOLD_SECONDS),
        Crowd("translations", slow - slow // 2, READERS_PER_SECOND, proxy.port, "127.0.0.5", SLOW_HOLD_SECONDS),
        Crowd("heads", slow // 2, WRITERS_PER_SECOND, proxy.port, "127.0.0.6", SLOW_HOLD_SECONDS),
        Crowd("bodies", slow - slow // 2, WRITERS_PER_SECOND, proxy.port, "127.0.0.7", SLOW_HOLD_SECONDS),
        Crowd("silent", idle, IDLE_PER_SECOND, proxy.port, "127.0.0.2", IDLE_HOLD_SECONDS),
        Crowd("kept", idle, IDLE_PER_SECOND, proxy.port, "127.0.0.3", IDLE_HOLD_SECONDS),
    ]
    await load.start()
    try:
        await asyncio.sleep(3)  # connections and code are warm
        phases = [await watched(process, "load alone", asyncio.create_task(asyncio.sleep(BEFORE_SECONDS)))]
        phases += [await visited(process, f"{crowd.count} {crowd.kind}", crowd) for crowd in crowds]
        phases += [await watched(process, "load alone again", asyncio.create_task(asyncio.sleep(BEFORE_SECONDS)))]
    finally:
        sent = await load.stop()
    for phase in phases:
        phase.judge(sent)
    return phases


def judged(phases: Sequence[Phase]) -> Result:
    """Return what is promised: nobody else feels it, memory is bounded, what was closed is freed."""
    found = Result("connections")
    # The better of the two: a machine that was busy with something else is no excuse.
    alone = min(phases[0].p99, phases[-1].p99)
    for phase in phases[1:-1]:
        failed = 100 * sum(phase.failures.values()) / max(1, phase.requests)
        found.promise(f"{phase.name}: the others' requests that failed", found=failed, at_most=0, unit=" %")
        found.promise(f"{phase.name}: their p99, of that alone", found=phase.p99 / alone, at_most=MOST_P99_RATIO)
        found.promise(f"{phase.name}: memory of the proxy", found=phase.rss, at_most=MOST_MEMORY, unit=" MB")
        if phase.after is not None:
            found.promise(f"{phase.name}: connections left after it", found=phase.left, at_most=0)
    return found


def report(phases: Sequence[Phase], found: Result, machine: str) -> str:
    """Return the report in Markdown."""
    heads = "crowd|open|closed by the proxy|p50 / p99 ms|failed|proxy CPU|proxy MB, most|open files, most|MB after"
    lines = ["# Connections", "", machine, "", *_table_head(heads.split("|"))]
    for phase in phases:
        crowd, after = phase.crowd, phase.after
        shut = "–"
        if crowd:
            stayed = " / ".join(f"{seconds:.1f}" for seconds in crowd["closed_after"])
            statuses = ", ".join(f"{status}: {count}" for status, count in crowd["statuses"].items())
            shut = f"{crowd['closed']}{f' after {stayed} s' if stayed else ''}"
            if statuses:
                shut += f" (answered {statuses}, after {crowd['answered_after']:.1f} s)"
        cells = (
            phase.name,
            f"{crowd['open']} in {crowd['seconds']:.1f} s" if crowd else "–",
            shut,
            f"{phase.p50:.0f} / {phase.p99:.0f}",
            f"{sum(phase.failures.values())} of {phase.requests}",
            f"{phase.cpu_percent:.0f} %",
            f"{phase.rss:.0f}",
            f"{phase.files}",
            f"{after.rss:.0f}" if after else "–",
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *_table_head(["target", "found", "promised", ""])]
    lines += [
        f"| {check.what} | {check.found} | {check.promised} | {'met' if check.met else '**missed**'} |"
        for check in found.checks
    ]
    return "\n".join([*lines, ""])


def _table_head(heads: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]


async def stage(out: Path, idle: int, slow: int, rate: float) -> list[Phase]:
    """Start everything, measure, stop everything."""
    async with staged(Setting(replicas=1), out) as scene:
        return await measure(scene, idle, slow, rate)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.connections", description="Idle and slow clients.")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections (default: %(default)s)")
    parser.add_argument("--slow", type=int, default=200, help="slow readers, and writers (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second beside (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/connections"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if options.idle + 200 > hard:
        raise SystemExit(f"connections: {options.idle} need more open files than the {hard} that this machine allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the proxy and the crowds inherit it
    out: Path = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    load_before = os.getloadavg()[0]
    began = time.strftime("%Y-%m-%d %H:%M")
    with ProcessGuard("PAIRWAY_CONNECTIONS", GRACE_SECONDS):
        phases = asyncio.run(stage(out, options.idle, options.slow, options.rate))
    found = judged(phases)
    machine = (
        f"Pairway {VERSION}, {began}, {os.cpu_count()} cores, load average {load_before:.1f} before; load of "
        f"{options.rate:g} requests/s, at most {hard} open files for each process (the usual soft limit here is {soft})."
    )
    text = report(phases, found, machine)
    (out / "report.md").write_text(text)
    rows = [
        {**vars(phase), "begin": vars(phase.begin), "end": vars(phase.end), "after": phase.after and vars(phase.after)}
        for phase in phases
    ]
    (out / "results.json").write_text(
        json.dumps({"machine": machine, "phases": rows, "targets": [vars(check) for check in found.checks]}, indent=1)
    )
    print(f"\n{text}\nwritten to {out}")
    return 0 if found.met else 1


if __name__ == "__main__":
    sys.exit(main())
