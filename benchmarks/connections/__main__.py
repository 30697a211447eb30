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
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.connections.clients import ClientGroup
from benchmarks.connections.phases import HEADINGS, Phase, judge, measure
from benchmarks.harness.processes import free_port, proxy_server, ready_replicas, redis_server, running
from benchmarks.harness.replicas import SimulatedFleet
from benchmarks.harness.report import RunFolder, table, target_table
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
    async with running(servers, lambda: ready_replicas(url, "en-de"), READY_SECONDS):
        return await measure(proxy.pid, url, groups, rate, out)


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
