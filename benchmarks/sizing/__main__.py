"""Sizing: how many replicas a fleet needs for so many requests a second at a p95, by a simulation driven by measurements.

    make plan RATE=100 P95=1.0 MEASURED=FILE
    python -m benchmarks.sizing --rate 100 --p95 1.0 --measured FILE [--limit 10000]

FILE is a results.json of ``make bench-overload``, or one replica's figures (see replica_model.py). Prints the smallest fleet
that keeps the promise, the one that still keeps it when a replica is lost, and their neighbours. Exit status 1 where no fleet
of up to ``--limit`` replicas does.
"""

from __future__ import annotations

import argparse
import math
import sys
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Final, NamedTuple

from benchmarks.harness.report import percentile, table
from benchmarks.sizing.replica_model import ReplicaMeasurements, ReplicaModel
from benchmarks.sizing.simulation import FleetRun

SEEDS: Final = (1, 2, 3)
# The p95 of that many requests moves by some percent from seed to seed; a fleet's queues settle within the first third.
REQUESTS: Final = 3000
REQUESTS_EACH: Final = 60
WARM_UP: Final = 1 / 3
# Nobody runs a fleet fuller than that: its queues never settle, so no run is long enough.
MAX_UTILISATION: Final = 0.97


class FleetEstimate(NamedTuple):
    """Estimated latencies (seconds) and utilisation of a fleet of that size."""

    replicas: int
    utilisation: float
    p50: float = math.inf
    p95: float = math.inf
    p99: float = math.inf

    def cells(self, note: str) -> tuple[str, ...]:
        """Return it as a row of the table."""
        latencies = " / ".join(f"{1000 * seconds:.0f}" for seconds in (self.p50, self.p95, self.p99))
        times = "no end" if math.isinf(self.p95) else latencies
        return str(self.replicas), f"{100 * self.utilisation:.0f} %", times, note


def estimate(replica: ReplicaModel, replicas: int, rate: float) -> FleetEstimate:
    """Simulate a fleet; medians of several seeds."""
    utilisation = rate / (replicas * replica.capacity)
    if utilisation > MAX_UTILISATION:
        return FleetEstimate(replicas, utilisation)
    requests = max(REQUESTS, REQUESTS_EACH * replicas)
    percentiles: list[tuple[float, ...]] = []
    for seed in SEEDS:
        run = FleetRun(replica, replicas, Random(seed), WARM_UP * requests / rate)  # noqa: S311 - a simulation
        run.open(rate, requests)
        percentiles.append(tuple(percentile(run.latencies, percent) for percent in (50, 95, 99)))
    return FleetEstimate(replicas, utilisation, *(median(each) for each in zip(*percentiles, strict=True)))


def plan(replica: ReplicaModel, rate: float, p95: float, limit: int) -> int | None:
    """Return the smallest fleet that keeps the p95, by bisection: more replicas are never slower; None beyond ``limit``."""

    def keeps(size: int) -> bool:
        return estimate(replica, size, rate).p95 <= p95

    few = many = max(1, math.ceil(rate / replica.capacity))
    while not keeps(many):
        if many >= limit:
            return None
        few, many = many, min(limit, 2 * many)
    return few + bisect_left(range(few, many), x=True, key=keeps)


def report(replica: ReplicaModel, least: int, rate: float, p95: float) -> str:
    """Return the plan in Markdown."""
    spare = least + 1
    notes = {least: "the smallest that keeps it", spare: "keeps it with one replica lost"}
    fleets = {size: estimate(replica, size, rate) for size in range(max(1, least - 1), spare + 2)}
    lost = f"p95 {1000 * fleets[least - 1].p95:.0f} ms" if least > 1 else "nothing is left"
    return "\n".join(
        [
            f"{rate:g} requests/s at p95 ≤ {1000 * p95:.0f} ms; one replica does {replica.capacity:.1f} requests/s at most.",
            "",
            *table(
                ("replicas", "utilisation", "p50 / p95 / p99 ms", ""),
                (fleet.cells(notes.get(size, "")) for size, fleet in fleets.items()),
            ),
            "",
            f"Run {spare}: with {least} the loss of one leaves {least - 1} ({lost.replace('p95 inf ms', 'it falls behind')}).",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Search and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizing", description="How many replicas.")
    parser.add_argument("--rate", type=float, required=True, help="requests a second")
    parser.add_argument("--p95", type=float, required=True, help="seconds that 95 %% of them may take")
    parser.add_argument("--measured", type=Path, required=True, help="what one replica was measured to do")
    segments = "max_num_seqs, with a results.json (default: %(default)s)"
    parser.add_argument("--segments", type=int, default=16, help=segments)
    parser.add_argument("--limit", type=int, default=2000, help="most replicas to think of (default: %(default)s)")
    options = parser.parse_args(arguments)
    measured = ReplicaMeasurements.read(options.measured, options.segments)
    replica = ReplicaModel.of(measured)
    print(f"{measured.what}\n")
    chosen = plan(replica, options.rate, options.p95, options.limit)
    if chosen is None:
        print(
            f"No fleet of up to {options.limit} replicas has a p95 of {options.p95:g} s: the requests take longer alone."
        )
        return 1
    print(report(replica, chosen, options.rate, options.p95))
    return 0


if __name__ == "__main__":
    sys.exit(main())
