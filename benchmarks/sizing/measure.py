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
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness.load import Stream
from benchmarks.harness.report import RunFolder, table
from benchmarks.harness.texts import MixedTexts, read_sentences
from benchmarks.overload.fleet import running_fleet
from benchmarks.overload.measurements import LoadSummary, summarize
from benchmarks.sizing.planner import estimate
from benchmarks.sizing.replica_model import ReplicaMeasurements, ReplicaModel
from shared.runtime.process_guard import ProcessGuard

CONCURRENCIES: Final = (1, 2, 4, 8, 16, 32)
# Of what the best closed loop got done.
OPEN_SHARES: Final = (0.3, 0.5, 0.7)
WARM_UP_SECONDS: Final = 2.0
# A request's time outside the engine: HTTP twice, tokenizing and the rest, on these two cores.
OVERHEAD_SECONDS: Final = 0.01
# The lengths are written as so many equal shares of the sample's.
SHARES: Final = 20
SAMPLE: Final = 4000
GRACE_SECONDS: Final = 10.0


def length_shares(texts: MixedTexts, count: int, shares: int) -> list[tuple[float, int]]:
    """Return the mix's lengths, the same number of requests behind each."""
    lengths = sorted(len(texts.text(number).text) for number in range(count))
    size = count // shares
    return [(1.0 / shares, sum(lengths[at : at + size]) // size) for at in range(0, size * shares, size)]


async def measure(
    out: Path, pairs: str, seconds: float, unmeasured: ReplicaMeasurements
) -> tuple[ReplicaMeasurements, list[LoadSummary]]:
    """Start everything; measure the closed loops, then the open ones; stop everything."""
    closed: list[tuple[int, float]] = []
    opened: list[LoadSummary] = []
    async with running_fleet(out, pairs, 1) as fleet:
        for concurrency in CONCURRENCIES:
            load = await fleet.load([Stream("closed", concurrency=concurrency)], seconds, WARM_UP_SECONDS)
            summary = summarize(load, "closed")
            closed.append((concurrency, summary.goodput))
            print(f"closed, {concurrency} at once: {_line(summary)}", flush=True)
        best = max(rate for _, rate in closed)
        for share in OPEN_SHARES:
            load = await fleet.load([Stream("open", rate=share * best)], 2 * seconds, WARM_UP_SECONDS)
            opened.append(summarize(load, "open"))
            print(f"open, {share * best:.1f}/s: {_line(opened[-1])}", flush=True)
    return unmeasured.model_copy(update={"closed": closed, "steps": []}), opened


def _line(summary: LoadSummary) -> str:
    return f"{summary.goodput:.1f}/s, p50 {summary.p50:.0f}, p95 {summary.p95:.0f} ms"


def comparison(replica: ReplicaModel, opened: Sequence[LoadSummary]) -> list[str]:
    """Return each open loop's latencies beside those simulated with as many requests a second."""
    rows: list[tuple[str, ...]] = []
    for measured in opened:
        simulated = estimate(replica, 1, measured.offered)
        rows.append(
            (
                f"{measured.offered:.1f}/s",
                f"{measured.p50:.0f} / {measured.p95:.0f} / {measured.p99:.0f}",
                f"{1000 * simulated.p50:.0f} / {1000 * simulated.p95:.0f} / {1000 * simulated.p99:.0f}",
                f"{100 * (1000 * simulated.p95 / measured.p95 - 1):+.0f} %",
            )
        )
    return table(("open loop", "measured p50 / p95 / p99 ms", "simulated", "p95 off by"), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizing.measure", description="One replica's speed.")
    parser.add_argument("--pairs", type=Path, help="file of english<TAB>german lines (default: made up sentences)")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each closed loop (default: %(default)s)")
    parser.add_argument("--segments", type=int, default=16, help="the catalog's max_num_seqs (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/sizing"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    file: Path | None = options.pairs
    mix = length_shares(MixedTexts(read_sentences(file), 1), SAMPLE, SHARES)
    what = f"en-de of the demo catalog, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d %H:%M')}, bench-overload's mix"
    empty = ReplicaMeasurements(
        what=what, most_segments=options.segments, overhead_seconds=OVERHEAD_SECONDS, mix=mix, steps=[(1, 1)]
    )
    folder = RunFolder(options.out)
    with ProcessGuard("PAIRWAY_SIZING", GRACE_SECONDS):
        pairs = str(file.resolve()) if file is not None else ""
        measured, opened = asyncio.run(measure(folder.path, pairs, options.seconds, empty))
    (folder.path / "measured.json").write_text(json.dumps(measured.model_dump(exclude_defaults=True), indent=1))
    (folder.path / "opened.json").write_text(json.dumps([summary._asdict() for summary in opened], indent=1))
    print("\n".join(["", *comparison(ReplicaModel.of(measured), opened), f"\nwritten to {folder.path}"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
