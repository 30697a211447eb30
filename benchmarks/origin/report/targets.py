"""The experiment's targets, judged. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from benchmarks.origin.report.measurements import Measurement, median_comparison, median_over, select
from benchmarks.origin.workload.candidate_texts import MIXED, UNIFORM

LEAST_RATIO_TO_A: Final = {UNIFORM: 7.0, MIXED: 5.0}
MOST_P95_OF_A: Final = 1 / 7
MOST_FALL: Final = 0.05
MOST_OUTSIDE: Final = 0.10
LEAST_OF_BARE: Final = 0.95
MOST_CPU_MS_ABOVE_BARE: Final = 1.5
LEAST_OF_OPENAI: Final = 1.0
# Engine requests beyond one for each segment, or missing. Sums of half precision depend on the batch: a rare answer
# differs from the one that the text was chosen by.
MOST_REQUESTS_OFF: Final = 0.005


class Check(NamedTuple):
    """One target: what, what was found and promised, whether it is met (None: not measured)."""

    what: str
    found: str
    promised: str
    met: bool | None


def judge(rows: Sequence[Measurement]) -> list[Check]:
    """Return every target that the rows say something about."""
    kinds = [kind for kind in (UNIFORM, MIXED) if any(row.kind == kind for row in rows)]
    checks = [check for kind in kinds for check in _of_kind(rows, kind)]
    off = max(
        (abs(row.requests - 1) for row in rows if not math.isnan(row.requests) and not row.failed), default=math.nan
    )
    what = "engine requests for each segment, the worst point"
    return [*checks, _most(what, off, MOST_REQUESTS_OFF, "1 ± {:.2%}")]


def _of_kind(rows: Sequence[Measurement], kind: str) -> Iterator[Check]:
    ours, a = select(rows, kind, 25, "E"), select(rows, kind, 25, "A")
    ratio = median_comparison(ours, a, lambda e, a: e.rate / a.rate if a.rate else math.inf)
    yield _least(f"E against A, c=25, {kind}: texts/s", ratio, LEAST_RATIO_TO_A[kind], "{:.2f}x")
    ratio = median_comparison(ours, a, lambda e, a: e.p95 / a.p95)
    yield _most(f"E against A, c=25, {kind}: p95", ratio, MOST_P95_OF_A, "{:.3f}x")
    yield _most(f"E, {kind}: deepest fall as load rises", deepest_fall(rates(rows, kind)), MOST_FALL, "{:.1%}")
    if kind == UNIFORM:
        outside = median_over(ours.values(), lambda row: row.outside)
        yield _most("E, c=25, uniform: time outside the engine", outside, MOST_OUTSIDE, "{:.1%}")
    ours, bare, openai = (select(rows, kind, 64, name) for name in ("E", "bare", "openai"))
    ratio = median_comparison(ours, bare, lambda e, bare: e.rate / bare.rate)
    yield _least(f"E against bare, c=64, {kind}: texts/s", ratio, LEAST_OF_BARE, "{:.3f}x")
    above = median_comparison(ours, bare, lambda e, bare: e.whole_cpu_ms - bare.whole_cpu_ms)
    yield _most(f"E above bare, c=64, {kind}: CPU ms a text", above, MOST_CPU_MS_ABOVE_BARE, "{:.2f}")
    ratio = median_comparison(ours, openai, lambda e, openai: e.rate / openai.rate)
    yield _least(f"E against vLLM's own server, c=64, {kind}: texts/s", ratio, LEAST_OF_OPENAI, "{:.3f}x")


def rates(rows: Sequence[Measurement], kind: str) -> list[float]:
    """Return E's rate at each concurrency, in their order."""
    at = sorted({row.concurrency for row in rows if row.name == "E" and row.kind == kind and row.concurrency})
    return [median_over(select(rows, kind, concurrency, "E").values(), lambda row: row.rate) for concurrency in at]


def deepest_fall(rates: Sequence[float]) -> float:
    """Return by what part a rate lies below the best before it, at most; NaN of fewer than two."""
    if len(rates) < 2:
        return math.nan
    return max(0.0, *(1 - rate / max(rates[:number]) for number, rate in enumerate(rates) if number))


def _least(what: str, found: float, promised: float, shown: str) -> Check:
    return Check(
        what, _shown(found, shown), f"≥ {shown.format(promised)}", None if math.isnan(found) else found >= promised
    )


def _most(what: str, found: float, promised: float, shown: str) -> Check:
    return Check(
        what, _shown(found, shown), f"≤ {shown.format(promised)}", None if math.isnan(found) else found <= promised
    )


def _shown(found: float, shown: str) -> str:
    return "not measured" if math.isnan(found) else shown.format(found)
