"""Connections that are a burden: what 10,000 idle ones, 200 slow readers and 200 slow writers do to a proxy and its clients.

    make bench-connections                            # about 4 minutes
    python -m benchmarks.connections --idle 10000 --slow 200 --rate 50 --out .run/connections

A Redis, a proxy and an API server with a scripted engine, all real processes; the load and the clients (clients.py) are
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

from benchmarks.connections.phases import Phase, measure
from benchmarks.connections.report import judge, report
from benchmarks.harness.report import RunFolder
from shared.runtime.process_guard import ProcessGuard
from tests.faults.fleet import FleetSetup, running_fleet

GRACE_SECONDS = 10.0
# Beside the idle connections.
SPARE_FILES = 200


async def start_and_measure(out: Path, idle: int, slow: int, rate: float) -> list[Phase]:
    """Start everything, measure, stop everything."""
    async with running_fleet(FleetSetup(replicas=1), out) as fleet:
        return await measure(fleet, idle, slow, rate)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.connections", description="Idle and slow clients.")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections (default: %(default)s)")
    parser.add_argument("--slow", type=int, default=200, help="slow readers, and writers (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second beside (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/connections"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if options.idle + SPARE_FILES > hard:
        raise SystemExit(f"connections: {options.idle} need more open files than the {hard} that this machine allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the proxy and the clients inherit it
    folder = RunFolder(options.out)
    with ProcessGuard("PAIRWAY_CONNECTIONS", GRACE_SECONDS):
        phases = asyncio.run(start_and_measure(folder.path, options.idle, options.slow, options.rate))
    checks = judge(phases)
    machine = (
        f"{folder.machine}; load of {options.rate:g} requests/s, at most {hard} open files for each process "
        f"(the usual soft limit here is {soft})."
    )
    results = {
        "machine": machine,
        "phases": [asdict(phase) for phase in phases],
        "targets": [vars(check) for check in checks],
    }
    folder.write(report(phases, checks, machine), results)
    return 0 if checks.met else 1


if __name__ == "__main__":
    sys.exit(main())
