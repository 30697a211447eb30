"""The fault suite in full: every fault that the proxy promises to survive, on real processes, beside the peers' figures.

    make faults                                       # every row, about 10 minutes
    python -m benchmarks.faults --rows sigkill,slow --seconds 7 --seed 1 --out .run/faults

Two API servers with a scripted engine of 20 ms (the vllm rows: vLLM and the demo model), 40 requests/s open loop (10 on
vLLM), client limit 5 s, Redis and a proxy, all with their usual settings and each row on a fleet of its own. Exit status 1
when a target is missed. The report is FOLDER/report.md, the figures FOLDER/results.json, the servers' logs beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import psutil

from benchmarks.faults.report import report
from shared.version import VERSION
from tests.faults.result import FULL, Result, Times
from tests.faults.rows import NAMES, ROWS, Entry
from tests.faults.scene import staged

# A row that takes longer than this will not end by itself.
ROW_SECONDS: Final = 600.0


async def measure(entries: Sequence[Entry], times: Times, out: Path) -> list[tuple[str, Result]]:
    """Run the rows one after the other; one that breaks is one that missed its targets."""
    results: list[tuple[str, Result]] = []
    for entry in entries:
        print(f"{entry.name} …", flush=True)
        folder = out / entry.name
        folder.mkdir(parents=True)
        began = time.monotonic()
        psutil.cpu_percent()
        try:
            async with asyncio.timeout(ROW_SECONDS), staged(entry.setting, folder) as scene:
                result = await entry.run(scene, times)
        except Exception as error:  # noqa: BLE001 - the others are worth measuring
            result = Result(entry.name)
            result.promise_that("the row came to its end", met=False, found=f"{type(error).__name__}: {error}"[:300])
        result.more["machine_cpu_percent"] = psutil.cpu_percent()
        results.append((entry.fault, result))
        missed = "; ".join(f"{check.what} {check.found} ({check.promised})" for check in result.missed(figures=True))
        print(f"    {time.monotonic() - began:.0f} s, {'missed: ' + missed if missed else 'targets met'}", flush=True)
    return results


def chosen(names: str, seed: int | None) -> list[Entry]:
    """Return the rows asked for, in the table's order or, with a seed, in a random one."""
    wanted = names.split(",") if names else list(NAMES)
    if unknown := set(wanted) - set(NAMES):
        raise SystemExit(f"faults: no row {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    entries = [entry for entry in ROWS if entry.name in wanted]
    if seed is not None:
        random.Random(seed).shuffle(entries)  # noqa: S311 - an order, no secret
    return entries


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description="The fault suite in full.")
    parser.add_argument("--rows", default="", help=f"comma-separated (default: all): {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=float, default=FULL.fault, help="length of a fault (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="run the rows in a random order (default: the table's)")
    parser.add_argument("--out", type=Path, default=Path(".run/faults"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    entries = chosen(options.rows, options.seed)
    out: Path = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    load_before = os.getloadavg()[0]
    began = time.strftime("%Y-%m-%d %H:%M")
    results = asyncio.run(measure(entries, replace(FULL, fault=options.seconds), out))
    cpus = [result.load_cpu_percent for _, result in results if result.load_cpu_percent is not None]
    order = "the order of the table" if options.seed is None else f"the order of seed {options.seed}"
    machine = (
        f"Pairway {VERSION}, {began}, {os.cpu_count()} cores, load average {load_before:.1f} before and "
        f"{os.getloadavg()[0]:.1f} after; the load generator took at most {max(cpus, default=0):.0f} % of a core; "
        f"faults of {options.seconds:g} s; rows in {order}."
    )
    header = ["# Fault suite", "", machine]
    text = report(results, header)
    (out / "report.md").write_text(text)
    figures = [asdict(result) | {"met": result.met} for _, result in results]
    (out / "results.json").write_text(json.dumps(figures, indent=1))
    print(f"\n{text}\nwritten to {out}")
    return 0 if all(result.met for _, result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
