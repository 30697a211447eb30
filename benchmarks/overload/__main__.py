"""Overload: what a proxy, an API server and the real demo model do with up to four times as much as they can.

    make bench-overload PAIRS=folder                  # everything, about 9 minutes
    python -m benchmarks.overload --pairs FOLDER/en-de.valid.tsv --seconds 12 --seed 1 --parts rates,burst --out .run/overload

Starts its own servers with their usual settings and leaves none behind. Exit status 1 when a target is missed. The report is
OUT/report.md, the figures OUT/results.json; beside them lie every answer that came and the servers' output.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.overload.fleet import started
from benchmarks.overload.report import report
from benchmarks.overload.scenarios import PARTS, Bench, capacity, judge_all
from shared.reaper import Reaper
from shared.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

# For the servers' own end when this program was killed.
GRACE_SECONDS = 10.0


async def measure(out: Path, pairs: str, seed: int, seconds: float, parts: Sequence[str]) -> Bench:
    """Find the capacity, then run the parts one after the other."""
    async with started(out, pairs, seed) as fleet:
        bench = Bench(fleet, seconds)
        await capacity(bench)
        for part in parts:
            await PARTS[part](bench)
        judge_all(bench)
        return bench


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overload", description="Up to 4 times the capacity.")
    parser.add_argument("--pairs", type=Path, help="file of english<TAB>german lines (default: made up sentences)")
    parser.add_argument("--seconds", type=float, default=12.0, help="of each load (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of texts and times (default: %(default)s)")
    parser.add_argument("--parts", default="", help=f"comma-separated (default: all): {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=Path(".run/overload"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    parts: list[str] = options.parts.split(",") if options.parts else list(PARTS)
    if unknown := set(parts) - set(PARTS):
        raise SystemExit(f"overload: no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    pairs = ""
    if options.pairs is not None and options.pairs.is_file():
        pairs = str(options.pairs.resolve())
    elif options.pairs is not None:
        print(f"no {options.pairs}: made up sentences instead")
    out: Path = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    load_before = os.getloadavg()[0]
    began = time.strftime("%Y-%m-%d %H:%M")
    with Reaper("PAIRWAY_OVERLOAD", GRACE_SECONDS):
        bench = asyncio.run(measure(out, pairs, options.seed, options.seconds, parts))
    machine = (
        f"Pairway {VERSION}, {began}, {os.cpu_count()} cores, load average {load_before:.1f} before; "
        f"loads of {options.seconds:g} s, seed {options.seed}, {'sentences of ' + pairs if pairs else 'made up sentences'}; "
        f"capacity {bench.capacity:.1f} requests/s of this mix ({bench.best.name})."
    )
    text = report(bench, machine)
    (out / "report.md").write_text(text)
    rows = [{"load": name, **figures._asdict()} for name, figures in bench.rows]
    checks = [vars(check) for check in bench.found.checks]
    results = {"machine": machine, "loads": rows, "targets": checks, "more": bench.more}
    (out / "results.json").write_text(json.dumps(results, indent=1))
    print(f"\n{text}\nwritten to {out}")
    return 0 if bench.found.met else 1


if __name__ == "__main__":
    sys.exit(main())
