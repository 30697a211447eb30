"""Planner: the smallest fleet that keeps a p95, by simulation. Pure."""

from __future__ import annotations

import math
from random import Random
from statistics import median
from typing import Final, NamedTuple

from benchmarks.harness.report import percentile
from benchmarks.sizing.replica_model import ReplicaModel
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
    p50: float
    p95: float
    p99: float

    def line(self, note: str = "") -> str:
        """Return it as a line of the table."""
        times = (
            "no end" if math.isinf(self.p95) else " / ".join(f"{1000 * s:.0f}" for s in (self.p50, self.p95, self.p99))
        )
        return f"| {self.replicas} | {100 * self.utilisation:.0f} % | {times} | {note} |"


class SizingPlan(NamedTuple):
    """Smallest fleet that keeps the p95, and the smallest that keeps it with one replica less."""

    least: FleetEstimate
    spare: FleetEstimate


def estimate(replica: ReplicaModel, replicas: int, rate: float) -> FleetEstimate:
    """Simulate a fleet; medians of several seeds."""
    utilisation = rate / (replicas * replica.capacity)
    if utilisation > MAX_UTILISATION:
        return FleetEstimate(replicas, utilisation, math.inf, math.inf, math.inf)
    requests = max(REQUESTS, REQUESTS_EACH * replicas)
    percentiles: list[tuple[float, ...]] = []
    for seed in SEEDS:
        run = FleetRun(replica, replicas, Random(seed), WARM_UP * requests / rate)  # noqa: S311 - a simulation
        run.open(rate, requests)
        percentiles.append(tuple(percentile(run.latencies, percent) for percent in (50, 95, 99)))
    p50, p95, p99 = (median(each) for each in zip(*percentiles, strict=True))
    return FleetEstimate(replicas, utilisation, p50, p95, p99)


def plan(replica: ReplicaModel, rate: float, p95: float, limit: int) -> SizingPlan | None:
    """Search by bisection, as more replicas are never slower; None where even the largest fleet is too slow."""
    known: dict[int, FleetEstimate] = {}

    def at(replicas: int) -> FleetEstimate:
        if replicas not in known:
            known[replicas] = estimate(replica, replicas, rate)
        return known[replicas]

    few, many = 0, max(1, math.ceil(rate / replica.capacity))
    while at(many).p95 > p95:
        if many >= limit:
            return None
        few, many = many, min(limit, 2 * many)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if at(middle).p95 <= p95 else (middle, many)
    return SizingPlan(at(many), at(many + 1))


def report(replica: ReplicaModel, chosen: SizingPlan, rate: float, p95: float) -> str:
    """Return the plan in Markdown."""
    least, spare = chosen
    sizes = sorted({max(1, least.replicas - 1), least.replicas, spare.replicas, spare.replicas + 1})
    notes = {
        least.replicas: "the smallest that keeps it",
        spare.replicas: "keeps it with one replica lost",
    }
    rows = [estimate(replica, size, rate).line(notes.get(size, "")) for size in sizes]
    lost = estimate(replica, least.replicas - 1, rate) if least.replicas > 1 else None
    alone = (
        "nothing is left"
        if lost is None
        else f"p95 {1000 * lost.p95:.0f} ms"
        if lost.p95 < math.inf
        else "it falls behind"
    )
    return "\n".join(
        [
            f"{rate:g} requests/s at p95 ≤ {1000 * p95:.0f} ms; one replica does {replica.capacity:.1f} requests/s at most.",
            "",
            "| replicas | utilisation | p50 / p95 / p99 ms | |",
            "|---|---|---|---|",
            *rows,
            "",
            f"Run {spare.replicas}: with {least.replicas} the loss of one leaves {least.replicas - 1} ({alone}).",
        ]
    )
