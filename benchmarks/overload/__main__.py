"""Overload: what a proxy, an API server and the real demo model do with up to four times as much as they can.

    make bench-overload PAIRS=folder                  # everything, about 9 minutes
    python -m benchmarks.overload --pairs FOLDER/en-de.valid.tsv --seconds 12 --seed 1 --parts rates,burst --out .run/overload

Starts its own servers with their usual settings and leaves none behind. Exit status 1 when a target is missed. The report is
OUT/report.md, the figures OUT/results.json; beside them are every response and the servers' output.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.report import RunFolder, table, target_table
from benchmarks.overload.measurements import HEADINGS
from benchmarks.overload.scenarios import SCENARIOS, OverloadBench, judge_all, measure_capacity, running_fleet
from shared.runtime.process_guard import ProcessGuard

# For the servers' own end when this program was killed.
GRACE_SECONDS = 10.0


async def measure(out: Path, pairs: str, seed: int, seconds: float, scenarios: Sequence[str]) -> OverloadBench:
    """Find the capacity, then run the scenarios one after the other."""
    async with running_fleet(out, pairs, seed) as fleet:
        bench = OverloadBench(fleet, seconds)
        await measure_capacity(bench)
        for name in scenarios:
            await SCENARIOS[name](bench)
        judge_all(bench)
        return bench


def report(bench: OverloadBench, machine: str) -> str:
    """Return the whole report in Markdown."""
    rows = table(HEADINGS, ((name, *summary.cells()) for name, summary in bench.rows))
    lines = ["# Overload", "", machine, "", *rows, "", *target_table(bench.checks), ""]
    for number, burst in enumerate(bench.details.get("retries", []), 1):
        lines.append(
            f"Burst {number}: {burst['refused']} refused, {burst['retried']} came back, {burst['succeeded']:.0f} % of them "
            f"with success ({burst['retried_later']} after the burst, {burst['succeeded_later']:.0f} %); Retry-After "
            f"{burst['median_wait']:.0f} s in the middle, {burst['longest_wait']:.0f} s at most."
        )
    return "\n".join([*lines, *bench.details.get("notes", []), ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overload", description="Up to 4 times the capacity.")
    parser.add_argument("--pairs", type=Path, help="file of english<TAB>german lines (default: made up sentences)")
    parser.add_argument("--seconds", type=float, default=12.0, help="of each load (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of texts and times (default: %(default)s)")
    parser.add_argument("--parts", default="", help=f"comma-separated (default: all): {', '.join(SCENARIOS)}")
    parser.add_argument("--out", type=Path, default=Path(".run/overload"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    scenarios: list[str] = options.parts.split(",") if options.parts else list(SCENARIOS)
    if unknown := set(scenarios) - set(SCENARIOS):
        raise SystemExit(f"overload: no part {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}")
    pairs = ""
    if options.pairs is not None and options.pairs.is_file():
        pairs = str(options.pairs.resolve())
    elif options.pairs is not None:
        print(f"no {options.pairs}: made up sentences instead")
    folder = RunFolder(options.out)
    with ProcessGuard("PAIRWAY_OVERLOAD", GRACE_SECONDS):
        bench = asyncio.run(measure(folder.path, pairs, options.seed, options.seconds, scenarios))
    machine = (
        f"{folder.machine}; loads of {options.seconds:g} s, seed {options.seed}, "
        f"{'sentences of ' + pairs if pairs else 'made up sentences'}; "
        f"capacity {bench.capacity:.1f} requests/s of this mix ({bench.best.name})."
    )
    loads = [{"load": name, **summary._asdict()} for name, summary in bench.rows]
    checks = [vars(check) for check in bench.checks]
    results = {"machine": machine, "loads": loads, "targets": checks, "more": bench.details}
    return folder.write(report(bench, machine), results, bench.checks)


if __name__ == "__main__":
    sys.exit(main())
