"""Overload: what a proxy, an API server and the real demo model do with up to four times as much as they can.

    make bench-overload PAIRS=folder                  # everything, about 9 minutes
    python -m benchmarks.overload --pairs FOLDER/en-de.valid.tsv --seconds 12 --seed 1 --parts rates,burst --out .run/overload

Starts its own servers with their usual settings and leaves none behind. Exit status 1 when a target is missed. The report is
OUT/report.md, the figures OUT/results.json; beside them are every response and the servers' output.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.harness.program import add_names, options_parser, run_guarded
from benchmarks.harness.report import RunFolder, table
from benchmarks.harness.texts import TextSource
from benchmarks.overload.measurements import HEADINGS
from benchmarks.overload.scenarios import SCENARIOS, OverloadBench, judge_all, measure_capacity, running_bench


async def measure(out: Path, pairs: str, options: argparse.Namespace) -> OverloadBench:
    """Find the capacity, then run the scenarios one after the other."""
    async with running_bench(out, TextSource(pairs=pairs, seed=options.seed), options.seconds) as bench:
        await measure_capacity(bench)
        for name in options.parts:
            await SCENARIOS[name](bench)
        judge_all(bench)
        return bench


def main() -> int:
    """Measure, write, print."""
    parser = options_parser("overload", "Up to 4 times the capacity.")
    parser.add_argument("--pairs", type=Path, help="file of english<TAB>german lines, else made up sentences")
    parser.add_argument("--seconds", type=float, default=12.0, help="of each load")
    parser.add_argument("--seed", type=int, default=1, help="of texts and times")
    add_names(parser, "--parts", list(SCENARIOS))
    options = parser.parse_args()
    pairs = ""
    if options.pairs is not None and options.pairs.is_file():
        pairs = str(options.pairs.resolve())
    elif options.pairs is not None:
        print(f"no {options.pairs}: made up sentences instead")
    folder = RunFolder(options.out)
    bench = run_guarded(measure(folder.path, pairs, options))
    note = (
        f"loads of {options.seconds:g} s, seed {options.seed}, {'sentences of ' + pairs if pairs else 'made up sentences'}; "
        f"capacity {bench.capacity:.1f} requests/s of this mix ({bench.best.name})"
    )
    lines = table(HEADINGS, ((name, *summary.cells()) for name, summary in bench.rows))
    loads = [{"load": name, **summary._asdict()} for name, summary in bench.rows]
    return folder.publish(
        "Overload", note, [*lines, "", *bench.notes], {"loads": loads, "notes": bench.notes}, bench.checks
    )


if __name__ == "__main__":
    sys.exit(main())
