"""Sizing: how many replicas a fleet needs for so many requests a second at a p95, by a queue driven by measurements.

    make plan RATE=100 P95=1.0 MEASURED=FILE
    python -m benchmarks.sizing --rate 100 --p95 1.0 --measured FILE [--limit 10000]

FILE is a results.json of ``make bench-overload``, or one replica's figures (see replica_model.py). Prints the smallest fleet
that keeps the promise, the one that still keeps it when a replica is lost, and their neighbours. Exit status 1 where no fleet
of up to ``--limit`` replicas does.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_left
from pathlib import Path

from benchmarks.harness.report import table
from benchmarks.sizing.fleet_model import estimate
from benchmarks.sizing.replica_model import ReplicaMeasurements, ReplicaModel


def plan(replica: ReplicaModel, rate: float, p95: float, limit: int) -> int | None:
    """Return the smallest fleet that keeps the p95, by bisection: more replicas are never slower; None beyond ``limit``."""
    sizes = range(1, limit + 1)
    place = bisect_left(sizes, x=True, key=lambda size: estimate(replica, size, rate).p95 <= p95)
    return sizes[place] if place < limit else None


def report(replica: ReplicaModel, least: int, rate: float, p95: float) -> str:
    """Return the plan in Markdown."""
    spare = least + 1
    notes = {least: "the smallest that keeps it", spare: "keeps it with one replica lost"}
    fleets = {size: estimate(replica, size, rate) for size in range(max(1, least - 1), spare + 2)}
    lost = f"p95 {1000 * fleets[least - 1].p95:.0f} ms" if least > 1 else "nothing is left"
    rows = (fleet.cells(notes.get(size, "")) for size, fleet in fleets.items())
    return "\n".join(
        [
            f"{rate:g} requests/s at p95 ≤ {1000 * p95:.0f} ms; one replica does {replica.capacity:.1f} requests/s at most.",
            *("", *table(("replicas", "utilisation", "p50 / p95 / p99 ms", ""), rows), ""),
            f"Run {spare}: with {least} the loss of one leaves {least - 1} ({lost.replace('p95 inf ms', 'it falls behind')}).",
        ]
    )


def main() -> int:
    """Search and print."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.sizing", formatter_class=formatter)
    parser.add_argument("--rate", type=float, required=True, help="requests a second")
    parser.add_argument("--p95", type=float, required=True, help="seconds that 95 %% of them may take")
    parser.add_argument("--measured", type=Path, required=True, help="what one replica was measured to do")
    parser.add_argument("--limit", type=int, default=2000, help="most replicas to think of")
    options = parser.parse_args()
    measured = ReplicaMeasurements.read(options.measured)
    replica = ReplicaModel(measured)
    print(f"{measured.what}\n")
    least = plan(replica, options.rate, options.p95, options.limit)
    if least is None:
        print(f"No fleet of up to {options.limit} replicas has a p95 of {options.p95:g} s: they take longer alone.")
        return 1
    print(report(replica, least, options.rate, options.p95))
    return 0


if __name__ == "__main__":
    sys.exit(main())
