"""Scale: what 1,000 replicas, 300 pairs and 4 proxies cost in picks, sweeps, Redis and ``/health``.

    make bench-scale                                  # everything, about 3 minutes
    python -m benchmarks.scale --replicas 1000 --pairs 300 --proxies 4 --rounds 5 --out .run/scale

The real parts of a proxy, a real Redis, real HTTP; the replicas are one process with an address for each. Exit status 1
when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import uvloop

from benchmarks.scale.fleet import PaperFleet, Shape
from benchmarks.scale.measurements import Found, report
from benchmarks.scale.request_costs import builds, picks
from benchmarks.scale.sweeps import proxies, started, sweeps
from shared.runtime.process_guard import ProcessGuard
from shared.version import VERSION
from tests.faults.result import Result

GRACE_SECONDS: Final = 10.0
PARTS: Final = ("picks", "sweeps", "proxies")


async def measure(fleet: PaperFleet, out: Path, options: argparse.Namespace, parts: Sequence[str]) -> Found:
    """Measure one shape of fleet."""
    found = Found(fleet.shape)
    if "picks" in parts:
        found.picks = picks(fleet, options.picks, options.rounds)
        found.builds_ms = builds(fleet, options.rounds)
    if {"sweeps", "proxies"} & set(parts):
        async with started(fleet, out, sys.executable) as servers:
            if "sweeps" in parts:
                await sweeps(found, fleet, servers, options.rounds)
            if "proxies" in parts:
                await proxies(found, fleet, servers, out, options.proxies, options.seconds)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="1,000 replicas and 4 proxies.")
    parser.add_argument("--replicas", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--pairs", type=int, default=300, help="default: %(default)s")
    parser.add_argument("--proxies", type=int, default=4, help="default: %(default)s")
    parser.add_argument(
        "--rounds", type=int, default=5, help="repeats, of which the median counts (default: %(default)s)"
    )
    parser.add_argument("--picks", type=int, default=10_000, help="timed in each round (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="that the proxies are watched (default: %(default)s)"
    )
    parser.add_argument("--shapes", default=",".join(Shape), help="comma-separated (default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/scale"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if (options.proxies + 2) * options.replicas > hard:
        raise SystemExit(f"scale: the replicas need more open files than the {hard} that this machine allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    out: Path = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    load_before = os.getloadavg()[0]
    began = time.strftime("%Y-%m-%d %H:%M")
    found: list[Found] = []
    result = Result("scale")
    with ProcessGuard("PAIRWAY_SCALE", GRACE_SECONDS):
        for shape in options.shapes.split(","):
            fleet = PaperFleet(options.replicas, options.pairs, Shape(shape))
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as the proxy runs
                found.append(runner.run(measure(fleet, out, options, options.parts.split(","))))
            found[-1].judge(result)
    machine = (
        f"Pairway {VERSION}, {began}, {os.cpu_count()} cores, load average {load_before:.1f} before; {options.replicas} "
        f"replicas, {options.pairs} pairs, {options.proxies} proxies; medians of {options.rounds}."
    )
    text = report(found, result, machine)
    (out / "report.md").write_text(text)
    results = {
        "machine": machine,
        "fleets": [each.as_json() for each in found],
        "targets": [vars(check) for check in result.checks],
    }
    (out / "results.json").write_text(json.dumps(results, indent=1))
    print(f"\n{text}\nwritten to {out}")
    return 0 if result.met else 1


if __name__ == "__main__":
    sys.exit(main())
