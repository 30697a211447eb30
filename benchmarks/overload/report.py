"""The overload benchmark's report: a table of the loads, and one of the targets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.overload.measurements import Figures
    from benchmarks.overload.scenarios import Bench

NONE: Final = "–"
HEADS: Final = (
    "load",
    "offered /s",
    "goodput /s",
    "units /s",
    "p50 / p95 / p99 ms",
    "refused",
    "refusals p50 / p99 ms",
    "neither",
    "CPU ms proxy / API server / engine",
    "generator late p99 / most ms, CPU",
)


def report(bench: Bench, machine: str) -> str:
    """Return the whole report in Markdown."""
    targets = [
        (check.what, check.found, check.promised, "met" if check.met else "**missed**") for check in bench.found.checks
    ]
    return "\n".join(
        [
            "# Overload",
            "",
            machine,
            "",
            *_table(HEADS, (_row(name, figures) for name, figures in bench.rows)),
            "",
            *_table(("target", "found", "promised", ""), targets),
            "",
            *_more(bench),
            "",
        ]
    )


def _row(name: str, found: Figures) -> tuple[str, ...]:
    refused = NONE
    if found.refused:
        refused = f"{found.refused} ({', '.join(f'{kind}: {count}' for kind, count in found.refusals.items())})"
    return (
        name,
        f"{found.offered:.1f}",
        f"{found.goodput:.1f}",
        f"{found.goodput_units:.0f}",
        _slashed(found.p50, found.p95, found.p99),
        refused,
        _slashed(found.refused_p50, found.refused_p99),
        ", ".join(f"{kind}: {count}" for kind, count in found.others.items()) or "0",
        f"{found.proxy_cpu_ms:.1f} / {found.apiserver_cpu_ms:.1f} / {found.engine_cpu_ms:.1f}",
        f"{_slashed(found.late_p99, found.late_most)}, {found.own_cpu_percent:.0f} %",
    )


def _slashed(*numbers: float) -> str:
    return " / ".join(NONE if math.isnan(number) else f"{number:.0f}" for number in numbers)


def _more(bench: Bench) -> list[str]:
    lines: list[str] = []
    if peak := bench.more.get("peak"):
        lines.append(
            f"Peak, of the medians of each rate and of the closed loop: {peak['requests']:.1f} requests/s, "
            f"{peak['units']:.1f} units/s."
        )
    for number, second in enumerate(bench.more.get("returns", []), 1):
        lines.append(
            f"Burst {number}: {second['refused']} refused, {second['came_back']} came back, {second['succeeded']:.0f} % of them "
            f"with success ({second['came_back_later']} after the burst, {second['succeeded_later']:.0f} %); Retry-After "
            f"{second['median_wait']:.0f} s in the middle, {second['longest_wait']:.0f} s at most."
        )
    if "seldom_p95_ratio" in bench.more:
        lines.append(
            f"Flood beside: the other caller's p95 is {bench.more['seldom_p95_ratio']:.2f} times that alone, "
            f"its slowest answer took {bench.more['seldom_slowest_ms']:.0f} ms."
        )
    lines += [f"The generator fell behind its schedule: {late}." for late in bench.more.get("late", [])]
    return lines


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = list(heads)
    return [
        f"| {' | '.join(heads)} |",
        f"| {' | '.join('---' for _ in heads)} |",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
