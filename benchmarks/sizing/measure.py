"""Measure one replica for benchmarks.sizing: closed loops from one request at once upwards, then open loops to judge it by.

    python -m benchmarks.sizing.measure --pairs FOLDER/en-de.valid.tsv --out .run/sizing

Starts its own proxy, API server and engine (the demo model en-de) with their usual settings. Writes OUT/measured.json, the
file that ``python -m benchmarks.sizing --measured`` takes, and prints each open loop's latencies beside the simulated ones.
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
from typing import TYPE_CHECKING, Final

from benchmarks.harness.load import Stream
from benchmarks.harness.texts import Mix, read_sentences
from benchmarks.overload.fleet import started
from benchmarks.overload.measurements import figures
from benchmarks.sizing.planner import look
from benchmarks.sizing.replica_model import Measured, Service
from shared.reaper import Reaper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.overload.fleet import Fleet
    from benchmarks.overload.measurements import Figures

AT_ONCE: Final = (1, 2, 4, 8, 16, 32)
# Of what the best closed loop got done.
OPEN: Final = (0.3, 0.5, 0.7)
WARM_UP_SECONDS: Final = 2.0
# A request's way outside the engine: HTTP twice, tokenizing and the rest, on these two cores.
OVERHEAD_SECONDS: Final = 0.01
# The lengths are told as so many equal shares of the sample's.
SHARES: Final = 20
SAMPLE: Final = 4000
GRACE_SECONDS: Final = 10.0


def lengths(mix: Mix, count: int, shares: int) -> list[tuple[float, int]]:
    """Return the mix's lengths, the same number of requests behind each."""
    found = sorted(len(mix.text(number).text) for number in range(count))
    size = count // shares
    return [(1.0 / shares, sum(found[at : at + size]) // size) for at in range(0, size * shares, size)]


async def loops(fleet: Fleet, seconds: float, measured: Measured) -> tuple[Measured, list[tuple[float, Figures]]]:
    """Measure the closed loops and the open ones."""
    rows: list[tuple[int, float]] = []
    for at_once in AT_ONCE:
        load = await fleet.load([Stream("closed", concurrency=at_once)], seconds, WARM_UP_SECONDS)
        found = figures(load, "closed")
        rows.append((at_once, found.goodput))
        print(
            f"closed, {at_once} at once: {found.goodput:.1f}/s, p50 {found.p50:.0f}, p95 {found.p95:.0f} ms", flush=True
        )
    best = max(rate for _, rate in rows)
    opened: list[tuple[float, Figures]] = []
    for part in OPEN:
        load = await fleet.load([Stream("open", rate=part * best)], 2 * seconds, WARM_UP_SECONDS)
        opened.append((part * best, figures(load, "open")))
        print(f"open, {part * best:.1f}/s: p50 {opened[-1][1].p50:.0f}, p95 {opened[-1][1].p95:.0f} ms", flush=True)
    return measured.model_copy(update={"closed": rows, "steps": []}), opened


async def measure(
    out: Path, pairs: str, seconds: float, measured: Measured
) -> tuple[Measured, list[tuple[float, Figures]]]:
    """Start everything, measure, stop everything."""
    async with started(out, pairs, 1) as fleet:
        return await loops(fleet, seconds, measured)


def compared(service: Service, opened: Sequence[tuple[float, Figures]]) -> list[str]:
    """Return each open loop's latencies beside those simulated with as many requests a second."""
    lines = ["| open loop | measured p50 / p95 / p99 ms | simulated | p95 off by |", "|---|---|---|---|"]
    for _, found in opened:
        said = look(service, 1, found.offered)
        lines.append(
            f"| {found.offered:.1f}/s | {found.p50:.0f} / {found.p95:.0f} / {found.p99:.0f} | "
            f"{1000 * said.p50:.0f} / {1000 * said.p95:.0f} / {1000 * said.p99:.0f} | "
            f"{100 * (1000 * said.p95 / found.p95 - 1):+.0f} % |"
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizing.measure", description="One replica's speed.")
    parser.add_argument("--pairs", type=Path, help="file of english<TAB>german lines (default: made up sentences)")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each closed loop (default: %(default)s)")
    parser.add_argument("--segments", type=int, default=16, help="the catalog's max_num_seqs (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/sizing"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    file: Path | None = options.pairs
    mix = lengths(Mix(read_sentences(file), 1), SAMPLE, SHARES)
    what = f"en-de of the demo catalog, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d %H:%M')}, bench-overload's mix"
    empty = Measured(
        what=what, most_segments=options.segments, overhead_seconds=OVERHEAD_SECONDS, mix=mix, steps=[(1, 1)]
    )
    out: Path = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with Reaper("PAIRWAY_SIZING", GRACE_SECONDS):
        pairs = str(file.resolve()) if file is not None else ""
        measured, opened = asyncio.run(measure(out, pairs, options.seconds, empty))
    (out / "measured.json").write_text(json.dumps(measured.model_dump(exclude_defaults=True), indent=1))
    (out / "opened.json").write_text(json.dumps([found._asdict() for _, found in opened], indent=1))
    print("\n".join(["", *compared(Service.of(measured), opened), f"\nwritten to {out}"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
