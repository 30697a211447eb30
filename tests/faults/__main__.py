"""The fault suite in full: every fault that the proxy must survive, on real processes, beside the peers' figures.

    make faults                                       # every scenario, about 10 minutes
    python -m tests.faults --rows sigkill,slow --seconds 7 --seed 1 --out .run/faults

Two API servers with a scripted engine of 20 ms (the vllm rows: vLLM and the demo model), 40 requests/s open loop (10 on
vLLM), client limit 5 s, Redis and a proxy, all with their usual settings and each scenario on a fleet of its own. Exit status 1
when a target is missed. The report is OUT/report.md, the figures OUT/results.json, the servers' logs beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import psutil

from benchmarks.harness.report import RunFolder
from tests.faults.fleet import running_fleet
from tests.faults.report import report
from tests.faults.result import FULL, ScenarioResult, Timing
from tests.faults.scenarios.table import NAMES, SCENARIOS, Entry

# A scenario that takes longer than this will not end by itself.
SCENARIO_SECONDS: Final = 600.0


async def measure(entries: Sequence[Entry], times: Timing, out: Path) -> list[tuple[str, ScenarioResult]]:
    """Run the scenarios one after the other; one that breaks is one that missed its targets."""
    results: list[tuple[str, ScenarioResult]] = []
    for entry in entries:
        print(f"{entry.name} …", flush=True)
        folder = out / entry.name
        folder.mkdir(parents=True)
        began = time.monotonic()
        psutil.cpu_percent()
        try:
            async with asyncio.timeout(SCENARIO_SECONDS), running_fleet(entry.setup, folder) as fleet:
                result = await entry.run(fleet, times)
        except Exception as error:  # noqa: BLE001 - the others are worth measuring
            result = ScenarioResult(entry.name)
            reason = f"{type(error).__name__}: {error}"[:300]
            result.checks.holds("the scenario came to its end", fact=False, measured=reason)
        result.details["machine_cpu_percent"] = psutil.cpu_percent()
        results.append((entry.fault, result))
        missed = "; ".join(f"{each.name} {each.measured} ({each.limit})" for each in result.checks.missed(timings=True))
        print(f"    {time.monotonic() - began:.0f} s, {'missed: ' + missed if missed else 'targets met'}", flush=True)
    return results


def chosen(names: str, seed: int | None) -> list[Entry]:
    """Return the chosen scenarios, in the table's order or, with a seed, in a random one."""
    chosen_names = names.split(",") if names else list(NAMES)
    if unknown := set(chosen_names) - set(NAMES):
        raise SystemExit(f"faults: no row {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    entries = [entry for entry in SCENARIOS if entry.name in chosen_names]
    if seed is not None:
        random.Random(seed).shuffle(entries)  # noqa: S311 - an order, no secret
    return entries


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="The fault suite in full.")
    parser.add_argument("--rows", default="", help=f"comma-separated (default: all): {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=float, default=FULL.fault, help="length of a fault (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="run the rows in a random order (default: the table's)")
    parser.add_argument("--out", type=Path, default=Path(".run/faults"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    entries = chosen(options.rows, options.seed)
    folder = RunFolder(options.out)
    results = asyncio.run(measure(entries, replace(FULL, fault=options.seconds), folder.path))
    cpus = [result.load_cpu_percent for _, result in results if result.load_cpu_percent is not None]
    order = "the order of the table" if options.seed is None else f"the order of seed {options.seed}"
    machine = (
        f"{folder.machine}; the load generator took at most {max(cpus, default=0):.0f} % of a core; "
        f"faults of {options.seconds:g} s; rows in {order}."
    )
    figures = [asdict(result) | {"met": result.checks.met} for _, result in results]
    folder.write(report(results, ["# Fault suite", "", machine]), figures)
    return 0 if all(result.checks.met for _, result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
