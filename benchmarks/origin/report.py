"""The report: everything measured in tables, and the targets that it is held against. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from benchmarks.harness.report import NONE, Checks, table, target_table
from benchmarks.origin.measurements import PointMeasurement, median_comparison, median_over, select
from benchmarks.origin.rounds import DESIGNS
from benchmarks.origin.texts import KINDS, MIXED, UNIFORM

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
    def shown(value: Callable[[PointMeasurement], float], how: str) -> str:
        figure = median_over(rows, value)
        return NONE if math.isnan(figure) and how != "{:.1f}" else how.format(figure)

    roles = dict.fromkeys(role for row in rows for role in row.cpu_ms)
    cpu = {role: median_over(rows, lambda row, role=role: row.cpu_ms.get(role, math.nan)) for role in roles}
    return (
        point,
        name,
        shown(lambda row: row.rate, "{:.1f}"),
        " / ".join(f"{median_over(rows, latency):.0f}" for latency in LATENCIES),
        shown(lambda row: row.outside, "{:.0%}"),
        shown(lambda row: row.whole_cpu_ms, "{:.1f}"),
        _parts(cpu, "{:.1f}"),
        shown(lambda row: row.batch, "{:.1f}"),
        shown(lambda row: row.step_cpu_ms, "{:.1f}"),
        f"{shown(lambda row: row.cores, '{:.2f}')} / {shown(lambda row: row.gpu_busy, '{:.0f} %')}",
        f"{sum(row.requests * row.due for row in rows if row.due):.0f} of {sum(row.due for row in rows)}",
        _failed(rows),
        str(len(rows)),
    )


def _failed(rows: Iterable[PointMeasurement]) -> str:
    failed = sum((Counter(row.failed) for row in rows), Counter[str]())
    return ", ".join(f"{error}: {count}" for error, count in failed.items()) or "0"


def _beside(rows: Sequence[PointMeasurement]) -> Iterable[tuple[str, str, str]]:
    kinds = dict.fromkeys(row.kind for row in rows)
    for what, theirs, name in PUBLISHED:
        shown = [kind for kind in kinds if (UNIFORM in what or MIXED in what) <= (kind in what)]
        ours = (_rise(rows, kind, name) for kind in shown if kind in KINDS)
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
    ratio = median_comparison(ours, a, lambda e, a: e.rate / a.rate if a.rate else math.inf)
    checks.at_least(f"E against A, c=25, {kind}: texts/s", ratio, MIN_RATIO_TO_A[kind], "x")
    ratio = median_comparison(ours, a, lambda e, a: e.p95 / a.p95)
    checks.at_most(f"E against A, c=25, {kind}: p95", ratio, MAX_P95_OF_A, "x")
    fall = deepest_fall(rates(rows, kind))
    checks.at_most(f"E, {kind}: deepest fall as load rises", 100 * fall, 100 * MAX_FALL, " %")
    if kind == UNIFORM:
        outside = median_over(ours.values(), lambda row: row.outside)
        checks.at_most("E, c=25, uniform: time outside the engine", 100 * outside, 100 * MAX_OUTSIDE, " %")
    ours, bare, openai = (select(rows, kind, 64, name) for name in ("E", "bare", "openai"))
    ratio = median_comparison(ours, bare, lambda e, bare: e.rate / bare.rate)
    checks.at_least(f"E against bare, c=64, {kind}: texts/s", ratio, MIN_OF_BARE, "x")
    above = median_comparison(ours, bare, lambda e, bare: e.whole_cpu_ms - bare.whole_cpu_ms)
    checks.at_most(f"E above bare, c=64, {kind}: CPU ms a text", above, MAX_CPU_MS_ABOVE_BARE[kind])
    ratio = median_comparison(ours, openai, lambda e, openai: e.rate / openai.rate)
    checks.at_least(f"E against vLLM's own server, c=64, {kind}: texts/s", ratio, MIN_OF_OPENAI, "x")


def rates(rows: Sequence[PointMeasurement], kind: str) -> list[float]:
    """Return E's rate at each concurrency, in their order."""
    at = sorted({row.concurrency for row in rows if row.name == "E" and row.kind == kind and row.concurrency})
    return [median_over(select(rows, kind, concurrency, "E").values(), lambda row: row.rate) for concurrency in at]


def deepest_fall(rates: Sequence[float]) -> float:
    """Return by what part a rate lies below the best before it, at most; NaN of fewer than two."""
    falls = (1 - rate / max(rates[:number]) for number, rate in enumerate(rates) if number)
    return max(0.0, *falls) if len(rates) > 1 else math.nan
