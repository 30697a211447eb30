"""The report: tables of everything measured, in Markdown. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from benchmarks.harness.report import NONE, Checks, table, target_table
from benchmarks.origin.measurements import PointMeasurement, median_over, select
from benchmarks.origin.points import DESIGNS

HEADINGS: Final = (
    *("load", "", "texts/s", "p50 / p95 / p99 ms", "outside the engine", "CPU ms a text", "of that", "batch"),
    *("engine CPU ms a step", "cores / GPU busy", "engine requests", "failed", "rounds"),
)
LATENCIES: Final[tuple[Callable[[PointMeasurement], float], ...]] = (
    lambda row: row.p50,
    lambda row: row.p95,
    lambda row: row.p99,
)
# What the origin's authors published; theirs is another model on a GPU: the ratios are what compares.
PUBLISHED: Final = (
    ("A, c=1 → 25", "3.3 → 2.2 requests/s, 1.4 → 11.3 s", "A"),
    ("B", "worse than A", "B"),
    ("C", "nearly 3 times A", "C"),
    ("D, uniform", "15 requests/s, about 7 times A", "D"),
    ("D, mixed", "+82 % in production", "D"),
)


def report(
    machine: str,
    rows: Sequence[PointMeasurement],
    checks: Checks,
    memory: Mapping[str, Mapping[str, float]],
    titles: Mapping[str, str],
) -> str:
    """Return everything."""
    lines = ["# The origin's experiment", "", machine, "", *target_table(checks), ""]
    lines += [*table(("published", "theirs", "here"), _beside(rows)), ""]
    lines += [f"{name}: {title}." for name, title in titles.items() if name in memory]
    lines += ["", *table(HEADINGS, _rows(rows)), ""]
    memory_rows = (
        (name, f"{sum(roles.values()):.0f}", _parts(roles, "{:.0f}"), _failed(row for row in rows if row.name == name))
        for name, roles in memory.items()
    )
    lines += [*table(("", "memory (PSS) MiB", "of that", "failed in all"), memory_rows), ""]
    busiest = max((row.others_cpu for row in rows), default=0.0)
    elsewhere = max(rows, key=lambda row: row.elsewhere_cpu)
    driver = max((row.driver_cpu for row in rows if row.name != "bare"), default=0.0)
    lines.append(
        f"All other designs together took at most {busiest:.2f} cores while one was measured, the clients {driver:.2f}; "
        f"everything else on the machine {elsewhere.elsewhere_cpu:.2f} ({elsewhere.point}, {elsewhere.name}, round "
        f"{elsewhere.round + 1}), half the time no more than {median_over(rows, lambda row: row.elsewhere_cpu):.2f}."
    )
    if taken := [mib for row in rows for _, _, mib in row.gpu_timeline]:
        lines += ["", f"Of the GPU's memory all designs together took at most {max(taken):.0f} MiB."]
    return "\n".join([*lines, ""])


def _rows(rows: Sequence[PointMeasurement]) -> Iterable[tuple[str, ...]]:
    loads = dict.fromkeys((row.point, row.kind, row.concurrency, row.share) for row in rows)
    for point, kind, concurrency, share in loads:
        for name in DESIGNS:
            if rounds := list(select(rows, kind, concurrency, name, share).values()):
                yield _row(point, name, rounds)


def _row(point: str, name: str, rows: Sequence[PointMeasurement]) -> tuple[str, ...]:
    outside = median_over(rows, lambda row: row.outside)
    roles = dict.fromkeys(role for row in rows for role in row.cpu_ms)
    cpu = {role: median_over(rows, lambda row, role=role: row.cpu_ms.get(role, math.nan)) for role in roles}
    return (
        point,
        name,
        f"{median_over(rows, lambda row: row.rate):.1f}",
        " / ".join(f"{median_over(rows, latency):.0f}" for latency in LATENCIES),
        _known(outside, "{:.0%}"),
        f"{median_over(rows, lambda row: row.whole_cpu_ms):.1f}",
        _parts(cpu, "{:.1f}"),
        f"{median_over(rows, lambda row: row.batch):.1f}",
        f"{median_over(rows, lambda row: row.step_cpu_ms):.1f}",
        f"{_known(median_over(rows, lambda row: row.cores), '{:.2f}')} / {_known(median_over(rows, lambda row: row.gpu_busy), '{:.0f} %')}",
        f"{sum(row.requests * row.due for row in rows if row.due):.0f} of {sum(row.due for row in rows)}",
        _failed(rows),
        str(len(rows)),
    )


def _known(value: float, shown: str) -> str:
    return NONE if math.isnan(value) else shown.format(value)


def _failed(rows: Iterable[PointMeasurement]) -> str:
    failed: Counter[str] = Counter()
    for row in rows:
        failed.update(row.failed)
    return ", ".join(f"{error}: {count}" for error, count in failed.items()) or "0"


def _beside(rows: Sequence[PointMeasurement]) -> Iterable[tuple[str, str, str]]:
    kinds = dict.fromkeys(row.kind for row in rows)
    for what, theirs, name in PUBLISHED:
        shown = [kind for kind in kinds if ("uniform" in what or "mixed" in what) <= (kind in what)]
        ours = (_rise(rows, kind, name) for kind in shown if kind in ("uniform", "mixed"))
        yield what, theirs, "; ".join(rise for rise in ours if rise)


def _rise(rows: Sequence[PointMeasurement], kind: str, name: str) -> str:
    """Return how a design does from one at once to 25, and beside A."""
    one, many = (list(select(rows, kind, concurrency, name).values()) for concurrency in (1, 25))
    if not one or not many:
        return ""
    rates = [median_over(rounds, lambda row: row.rate) for rounds in (one, many)]
    p50s = [median_over(rounds, lambda row: row.p50) / 1000 for rounds in (one, many)]
    a = median_over(select(rows, kind, 25, "A").values(), lambda row: row.rate)
    beside = "" if name == "A" or math.isnan(a) else f" ({rates[1] / a:.1f} times A)"
    return f"{kind}: {rates[0]:.1f} → {rates[1]:.1f} texts/s{beside}, {p50s[0]:.2f} → {p50s[1]:.2f} s"


def _parts(roles: Mapping[str, float], shown: str) -> str:
    return ", ".join(f"{role} {shown.format(value)}" for role, value in roles.items())
