"""Report of a run: a table of its rows, and what failed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmarks.harness.report import NONE, Checks, table
from tests.compose.result import RowResult

HEADINGS = ("row", "what was done", "through", "s", "failed", "p95 ms", "/health said", "and", "targets")
EXPLANATION = (
    "s: from the event until the fleet was whole again, the load goes on for some seconds before and after; failed: of all "
    "requests of the row, of every pair; p95: of the right answers since the event, in brackets that of the calm time; /health: "
    "its status and ready of known replicas, once a second."
)
CALM = "calm"


def report(results: Sequence[RowResult], wanted: int, header: Iterable[str], removal: Checks) -> str:
    """Return the whole report in Markdown; ``wanted``: rows that the run should have had."""
    calm = next((result.p95_ms for result in results if result.row == CALM), None)
    lines = [*header, "", EXPLANATION, "", *table(HEADINGS, (_cells(result, calm) for result in results)), ""]
    return "\n".join([*lines, *_missed(results, wanted, removal), ""])


def _cells(result: RowResult, calm: float | None) -> tuple[str, ...]:
    p95 = (
        NONE
        if math.isnan(result.p95_ms)
        else f"{result.p95_ms:.0f}" + ("" if calm is None or result.row == CALM else f" ({calm:.0f})")
    )
    return (
        result.row,
        result.action,
        result.via,
        f"{result.seconds:.0f}",
        f"{result.failed} / {result.requests}",
        p95,
        result.health or NONE,
        ", ".join(f"{name} {value}" for name, value in result.details.items()) or NONE,
        "met" if result.checks.met else "**missed**",
    )


def _missed(results: Sequence[RowResult], wanted: int, removal: Checks) -> list[str]:
    lines = [
        f"* missed, {result.row}: {check.name} {check.measured}, limit {check.limit}; {_kinds(result)}"
        for result in results
        for check in result.checks.missed(timings=True)
    ]
    lines += [f"* missed, removal: {check.name} {check.measured}" for check in removal.missed(timings=True)]
    if len(results) < wanted:
        lines.append(f"* missed: the run ended after {len(results)} of {wanted} rows")
    return lines or ["All targets are met, and nothing of the fleet is left."]


def _kinds(result: RowResult) -> str:
    return ", ".join(f"{count} × {kind}" for kind, count in result.kinds.items()) or "no request failed"
