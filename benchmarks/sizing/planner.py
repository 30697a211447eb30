"""Planner: the smallest fleet that keeps a p95, by simulation. Pure."""

from __future__ import annotations

import math
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.sizing.replica_model import Service
from benchmarks.sizing.simulation import FleetRun

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEDS: Final = (1, 2, 3)
# The p95 of that many requests moves by some percent from seed to seed; a fleet's queues settle within the first third.
REQUESTS: Final = 3000
REQUESTS_EACH: Final = 60
WARM_UP: Final = 1 / 3
# Nobody runs a fleet fuller than that: its queues never settle, so no run is long enough.
MOST_UTILISATION: Final = 0.97


class Look(NamedTuple):
    """What a fleet of that size does; seconds, and parts of its capacity."""

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


class Plan(NamedTuple):
    """The smallest fleet that keeps the promise, and the smallest that keeps it with one replica less."""

    least: Look
    spare: Look


def look(service: Service, replicas: int, rate: float) -> Look:
    """Simulate a fleet; medians of several seeds."""
    utilisation = rate / (replicas * service.capacity)
    if utilisation > MOST_UTILISATION:
        return Look(replicas, utilisation, math.inf, math.inf, math.inf)
    requests = max(REQUESTS, REQUESTS_EACH * replicas)
    found: list[tuple[float, float, float]] = []
    for seed in SEEDS:
        run = FleetRun(service, replicas, Random(seed), WARM_UP * requests / rate)  # noqa: S311 - a simulation
        run.open(rate, requests)
        latencies = sorted(run.latencies)
        found.append((percentile(latencies, 0.5), percentile(latencies, 0.95), percentile(latencies, 0.99)))
    p50, p95, p99 = (median(each) for each in zip(*found, strict=True))
    return Look(replicas, utilisation, p50, p95, p99)


def percentile(ordered: Sequence[float], part: float) -> float:
    """Return what this part of the values stays within."""
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else math.inf


def plan(service: Service, rate: float, p95: float, limit: int) -> Plan | None:
    """Search by bisection, as more replicas are never slower; None where even the largest fleet is too slow."""
    seen: dict[int, Look] = {}

    def at(replicas: int) -> Look:
        if replicas not in seen:
            seen[replicas] = look(service, replicas, rate)
        return seen[replicas]

    few, many = 0, max(1, math.ceil(rate / service.capacity))
    while at(many).p95 > p95:
        if many >= limit:
            return None
        few, many = many, min(limit, 2 * many)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if at(middle).p95 <= p95 else (middle, many)
    return Plan(at(many), at(many + 1))


def report(service: Service, found: Plan, rate: float, p95: float) -> str:
    """Say what was found, in Markdown."""
    least, spare = found
    sizes = sorted({max(1, least.replicas - 1), least.replicas, spare.replicas, spare.replicas + 1})
    notes = {
        least.replicas: "the smallest that keeps it",
        spare.replicas: "keeps it with one replica lost",
    }
    rows = [look(service, size, rate).line(notes.get(size, "")) for size in sizes]
    lost = look(service, least.replicas - 1, rate) if least.replicas > 1 else None
    alone = (
        "nothing is left"
        if lost is None
        else f"p95 {1000 * lost.p95:.0f} ms"
        if lost.p95 < math.inf
        else "it falls behind"
    )
    return "\n".join(
        [
            f"{rate:g} requests/s at p95 ≤ {1000 * p95:.0f} ms; one replica does {service.capacity:.1f} requests/s at most.",
            "",
            "| replicas | utilisation | p50 / p95 / p99 ms | |",
            "|---|---|---|---|",
            *rows,
            "",
            f"Run {spare.replicas}: with {least.replicas} the loss of one leaves {least.replicas - 1} ({alone}).",
        ]
    )
