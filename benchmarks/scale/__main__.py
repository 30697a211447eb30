"""Scale: what 200 replicas, 50 pairs and 4 proxies (or more) cost in picks, sweeps, Redis and ``/health``.

    make bench-scale                                  # everything, about a minute
    python -m benchmarks.scale --replicas 1000 --pairs 300 --proxies 4 --rounds 5 --out .run/scale

The real parts of a proxy, a real Redis, real HTTP; the replicas are one process with an address for each. Exit status 1
when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import uvloop

from benchmarks.harness.report import Checks, RunFolder
from benchmarks.scale.fleet import FleetShape, SimulatedFleet
from benchmarks.scale.measurements import FleetMeasurements, report
from benchmarks.scale.request_costs import picks, snapshot_builds
from benchmarks.scale.sweeps import proxies, running_servers, sweeps
from shared.runtime.process_guard import ProcessGuard

GRACE_SECONDS: Final = 10.0
PARTS: Final = ("picks", "sweeps", "proxies")


async def measure(
    fleet: SimulatedFleet, out: Path, options: argparse.Namespace, parts: Sequence[str]
) -> FleetMeasurements:
    """Measure one shape of fleet."""
    measured = FleetMeasurements(fleet.shape, fleet.replicas)
    if "picks" in parts:
        measured.picks = picks(fleet, options.picks, options.rounds)
        measured.builds_ms = snapshot_builds(fleet, options.rounds)
    if {"sweeps", "proxies"} & set(parts):
        async with running_servers(fleet, out, sys.executable) as servers:
            if "sweeps" in parts:
                await sweeps(measured, fleet, servers, options.rounds)
            if "proxies" in parts:
                await proxies(measured, fleet, servers, out, options.proxies, options.seconds)
    return measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description="Many replicas, many pairs, several proxies."
    )
    parser.add_argument("--replicas", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--pairs", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--proxies", type=int, default=4, help="default: %(default)s")
    parser.add_argument(
        "--rounds", type=int, default=5, help="repeats, of which the median counts (default: %(default)s)"
    )
    parser.add_argument("--picks", type=int, default=10_000, help="timed in each round (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="that the proxies are watched (default: %(default)s)"
    )
    parser.add_argument("--shapes", default=",".join(FleetShape), help="comma-separated (default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/scale"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if (options.proxies + 2) * options.replicas > hard:
        raise SystemExit(f"scale: the replicas need more open files than the {hard} that this machine allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    folder = RunFolder(options.out)
    fleets: list[FleetMeasurements] = []
    checks = Checks()
    with ProcessGuard("PAIRWAY_SCALE", GRACE_SECONDS):
        for shape in options.shapes.split(","):
            fleet = SimulatedFleet(options.replicas, options.pairs, FleetShape(shape))
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as the proxy runs
                fleets.append(runner.run(measure(fleet, folder.path, options, options.parts.split(","))))
            fleets[-1].judge(checks)
    machine = (
        f"{folder.machine}; {options.replicas} replicas, {options.pairs} pairs, {options.proxies} proxies; "
        f"medians of {options.rounds}."
    )
    results = {
        "machine": machine,
        "fleets": [each.as_json() for each in fleets],
        "targets": [vars(check) for check in checks],
    }
    folder.write(report(fleets, checks, machine), results)
    return 0 if checks.met else 1


if __name__ == "__main__":
    sys.exit(main())
