"""What was measured, as figures: rates, latencies, shares, CPU; medians over the rounds. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from benchmarks.harness.load import LoadResult
from benchmarks.harness.report import percentile_ms
from benchmarks.origin.designs.serving import EngineWork


@dataclass(frozen=True)
class PointMeasurement:
    """One design at one point of one round.

    Rates in texts a second, latencies in ms. ``outside`` is the part of the time that texts were not inside the engine (NaN
    where a text is several engine requests, or the time is not known), ``cpu_ms`` the CPU of each role for a text, ``others_cpu`` the cores
    that the other designs' processes took meanwhile, ``elsewhere_cpu`` those that everything else on the machine took,
    ``requests`` the engine requests done for each one that there should be, ``due`` how many there should be.
    ``batch`` is the mean batch of the engine's steps, ``step_cpu_ms`` the engine's CPU for one of them. ``cpu_timeline`` are the cores that the processes took,
    ``gpu_timeline`` how busy the GPU was, per cent, and its memory taken, MiB: both by seconds in the time that counts.
    """

    point: str
    kind: str
    concurrency: int
    share: float
    round: int
    name: str
    rate: float
    p50: float
    p95: float
    p99: float
    failed: dict[str, int]
    outside: float
    requests: float
    due: int
    cpu_ms: dict[str, float]
    others_cpu: float
    elsewhere_cpu: float
    driver_cpu: float
    batch: float
    step_cpu_ms: float
    steps: list[tuple[float, int]]
    cpu_timeline: list[tuple[float, float]]
    gpu_timeline: list[tuple[float, float, float]]

    @property
    def whole_cpu_ms(self) -> float:
        """CPU of all roles."""
        return sum(self.cpu_ms.values())

    @property
    def cores(self) -> float:
        """The mean of the cores taken; NaN where nobody looked."""
        return fmean(taken for _, taken in self.cpu_timeline) if self.cpu_timeline else math.nan

    @property
    def gpu_busy(self) -> float:
        """The mean of the per cent that the GPU was busy; NaN without one."""
        return fmean(busy for _, busy, _ in self.gpu_timeline) if self.gpu_timeline else math.nan


def summarize(load: LoadResult, did: EngineWork, cpu: Mapping[str, float], *, is_open: bool) -> dict[str, Any]:
    """Return the fields of a measurement that come of answers, what the engine did, and CPU seconds by role.

    Latencies are of the texts that were answered in the time that counts; in an open loop of those that were due in it, for else the
    ones that waited longest would be left out, and those that failed by then.
    """
    latencies = [sample.ended - sample.due for sample in (load.due if is_open else load.counted)]
    failed = Counter(sample.code for sample in load.samples if sample.failed)
    good = len(load.samples) - failed.total()
    expected = int(sum(sample.units for sample in load.samples))
    is_single = all(sample.units == 1 for sample in load.samples)
    took = sum(sample.ended - sample.due for sample in load.samples)
    return {
        "rate": load.rate,
        **{f"p{percent}": percentile_ms(latencies, percent) for percent in (50, 95, 99)},
        "failed": dict(failed),
        "outside": 1 - did.seconds / took if is_single and took else math.nan,
        "requests": ratio(did.requests, expected),
        "due": expected,
        "cpu_ms": {role: ratio(1000 * spent, good) for role, spent in cpu.items()},
        "driver_cpu": load.cpu_share,
        "batch": ratio(did.tokens, did.steps),
        "step_cpu_ms": ratio(1000 * cpu.get("engine", math.nan), did.steps),
    }


def ratio(value: float, of: float) -> float:
    """Return the quotient; NaN where there is nothing to divide by."""
    return value / of if of else math.nan


def select(
    rows: Iterable[PointMeasurement], kind: str, concurrency: int, name: str, share: float = 0.0
) -> dict[int, PointMeasurement]:
    """Return a design's figures at a point by round."""
    wanted = (kind, concurrency, share, name)
    return {row.round: row for row in rows if (row.kind, row.concurrency, row.share, row.name) == wanted}


def known_median(figures: Iterable[float]) -> float:
    """Return the median of what is no NaN; NaN of nothing."""
    values = [figure for figure in figures if not math.isnan(figure)]
    return median(values) if values else math.nan


def median_of(rows: Iterable[PointMeasurement], figure: str) -> float:
    """Return the median of a figure over the rounds; NaN of none."""
    return known_median(getattr(row, figure) for row in rows)


def median_comparison(
    ours: Mapping[int, PointMeasurement],
    theirs: Mapping[int, PointMeasurement],
    figure: str,
    compare: Callable[[float, float], float] = ratio,
) -> float:
    """Return the median of what two designs' figures of the same round give, by default their ratio; NaN without such rounds."""
    shared = ours.keys() & theirs.keys()
    return known_median(compare(getattr(ours[number], figure), getattr(theirs[number], figure)) for number in shared)
