"""The report: everything measured in tables, and the targets that it is held against. Pure."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from benchmarks.harness.report import NONE, Checks, table
from benchmarks.origin.measurements import PointMeasurement, known_median, median_comparison, median_of, select
from benchmarks.origin.processes import TITLES
from benchmarks.origin.texts import KINDS, MIXED, UNIFORM

HEADINGS: Final = (
    *("load", "", "texts/s", "p50 / p95 / p99 ms", "outside the engine", "CPU ms a text", "of that", "batch"),
    *("engine CPU ms a step", "cores / GPU busy", "engine requests", "failed", "rounds"),
)
# What the origin's authors published; theirs is another model on a GPU: the ratios are what compares.
PUBLISHED: Final = (
    ("A, c=1 → 25", "3.3 → 2.2 requests/s, 1.4 → 11.3 s", "A"),
    ("B", "worse than A", "B"),
    ("C", "nearly 3 times A", "C"),
    ("D, uniform", "15 requests/s, about 7 times A", "D"),
    ("D, mixed", "+82 % in production", "D"),
)
MIN_RATIO_TO_A: Final = {UNIFORM: 7.0, MIXED: 5.0}
MAX_P95_OF_A: Final = 1 / 7
MAX_FALL: Final = 0.05
MAX_OUTSIDE: Final = 0.10
MIN_OF_BARE: Final = 0.95
MAX_CPU_MS_ABOVE_BARE: Final = {UNIFORM: 1.5, MIXED: 3.5}
MIN_OF_OPENAI: Final = 1.0
# Engine requests beyond one for each segment, or missing. Sums of half precision depend on the batch: a rare answer
# differs from the one that the text was chosen by.
MAX_REQUESTS_OFF: Final = 0.005


def tables(rows: Sequence[PointMeasurement], memory: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return everything but the targets."""
    lines = [*table(("published", "theirs", "here"), _beside(rows)), ""]
    lines += [f"{name}: {title}." for name, title in TITLES.items() if name in memory]
    loads = dict.fromkeys((row.point, row.kind, row.concurrency, row.share) for row in rows)
    measured = (
        (point, name, list(select(rows, kind, concurrency, name, share).values()))
        for point, kind, concurrency, share in loads
        for name in TITLES
    )
    lines += ["", *table(HEADINGS, (_row(point, name, rounds) for point, name, rounds in measured if rounds)), ""]
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
        f"{elsewhere.round + 1}), half the time no more than {median_of(rows, 'elsewhere_cpu'):.2f}."
    )
    if taken := [mib for row in rows for _, _, mib in row.gpu_timeline]:
        lines += ["", f"Of the GPU's memory all designs together took at most {max(taken):.0f} MiB."]
    return lines


def _row(point: str, name: str, rows: Sequence[PointMeasurement]) -> tuple[str, ...]:
    def shown(figure: str, how: str) -> str:
        value = median_of(rows, figure)
        return NONE if math.isnan(value) and how != "{:.1f}" else how.format(value)

    roles = dict.fromkeys(role for row in rows for role in row.cpu_ms)
    cpu = {role: known_median(row.cpu_ms.get(role, math.nan) for row in rows) for role in roles}
    return (
        point,
        name,
        shown("rate", "{:.1f}"),
        " / ".join(f"{median_of(rows, latency):.0f}" for latency in ("p50", "p95", "p99")),
        shown("outside", "{:.0%}"),
        shown("whole_cpu_ms", "{:.1f}"),
        _parts(cpu, "{:.1f}"),
        shown("batch", "{:.1f}"),
        shown("step_cpu_ms", "{:.1f}"),
        f"{shown('cores', '{:.2f}')} / {shown('gpu_busy', '{:.0f} %')}",
        f"{sum(row.requests * row.due for row in rows if row.due):.0f} of {sum(row.due for row in rows)}",
        _failed(rows),
        str(len(rows)),
    )


def _failed(rows: Iterable[PointMeasurement]) -> str:
    failed = sum((Counter(row.failed) for row in rows), Counter[str]())
    return ", ".join(f"{error}: {count}" for error, count in failed.items()) or "0"


def _parts(roles: Mapping[str, float], shown: str) -> str:
    return ", ".join(f"{role} {shown.format(value)}" for role, value in roles.items())


def _beside(rows: Sequence[PointMeasurement]) -> Iterable[tuple[str, str, str]]:
    kinds = [kind for kind in dict.fromkeys(row.kind for row in rows) if kind in KINDS]
    for what, theirs, name in PUBLISHED:
        named = [kind for kind in KINDS if kind in what]
        ours = (_rise(rows, kind, name) for kind in kinds if kind in (named or KINDS))
        yield what, theirs, "; ".join(rise for rise in ours if rise)


def _rise(rows: Sequence[PointMeasurement], kind: str, name: str) -> str:
    """Return how a design does from one at once to 25, and beside A."""
    one, many = (select(rows, kind, concurrency, name).values() for concurrency in (1, 25))
    if not one or not many:
        return ""
    rate, p50 = median_of(many, "rate"), median_of(many, "p50") / 1000
    a = median_of(select(rows, kind, 25, "A").values(), "rate")
    beside = "" if name == "A" or math.isnan(a) else f" ({rate / a:.1f} times A)"
    before = f"{median_of(one, 'rate'):.1f} → {rate:.1f} texts/s{beside}"
    return f"{kind}: {before}, {median_of(one, 'p50') / 1000:.2f} → {p50:.2f} s"


def judge(rows: Sequence[PointMeasurement]) -> Checks:
    """Return every target that the rows say something about: a run may leave designs and loads out."""
    checks = Checks()
    for kind in KINDS:
        _judge_kind(checks, rows, kind)
    known = (row.requests for row in rows if not math.isnan(row.requests) and not row.failed)
    off = max((abs(requests - 1) for requests in known), default=math.nan)
    what = "engine requests for each segment, off by, the worst point"
    checks.at_most(what, 100 * off, 100 * MAX_REQUESTS_OFF, " %")
    checks.checks = [check for check in checks if not check.measured.startswith("nan")]
    return checks


def _judge_kind(checks: Checks, rows: Sequence[PointMeasurement], kind: str) -> None:
    ours, a = select(rows, kind, 25, "E"), select(rows, kind, 25, "A")
    times = median_comparison(ours, a, "rate", lambda ours, a: ours / a if a else math.inf)
    checks.at_least(f"E against A, c=25, {kind}: texts/s", times, MIN_RATIO_TO_A[kind], "x")
    checks.at_most(f"E against A, c=25, {kind}: p95", median_comparison(ours, a, "p95"), MAX_P95_OF_A, "x")
    at = sorted({row.concurrency for row in rows if row.name == "E" and row.kind == kind and row.concurrency})
    fall = deepest_fall([median_of(select(rows, kind, each, "E").values(), "rate") for each in at])
    checks.at_most(f"E, {kind}: deepest fall as load rises", 100 * fall, 100 * MAX_FALL, " %")
    if kind == UNIFORM:
        outside = median_of(ours.values(), "outside")
        checks.at_most("E, c=25, uniform: time outside the engine", 100 * outside, 100 * MAX_OUTSIDE, " %")
    ours, bare, openai = (select(rows, kind, 64, name) for name in ("E", "bare", "openai"))
    times = median_comparison(ours, bare, "rate")
    checks.at_least(f"E against bare, c=64, {kind}: texts/s", times, MIN_OF_BARE, "x")
    above = median_comparison(ours, bare, "whole_cpu_ms", operator.sub)
    checks.at_most(f"E above bare, c=64, {kind}: CPU ms a text", above, MAX_CPU_MS_ABOVE_BARE[kind])
    times = median_comparison(ours, openai, "rate")
    checks.at_least(f"E against vLLM's own server, c=64, {kind}: texts/s", times, MIN_OF_OPENAI, "x")


def deepest_fall(rates: Sequence[float]) -> float:
    """Return by what part a rate lies below the best before it, at most; NaN of fewer than two."""
    falls = (1 - rate / max(rates[:number]) for number, rate in enumerate(rates) if number)
    return max(0.0, *falls) if len(rates) > 1 else math.nan
