"""The experiment's targets, judged. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from benchmarks.harness.report import Checks
from benchmarks.origin.measurements import PointMeasurement, median_comparison, median_over, select
from benchmarks.origin.texts import MIXED, UNIFORM

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


def judge(rows: Sequence[PointMeasurement]) -> Checks:
    """Return every target that the rows say something about: a run may leave designs and loads out."""
    checks = Checks()
    for kind in (UNIFORM, MIXED):
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
