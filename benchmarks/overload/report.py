"""Report of the overload benchmark: a table of the loads, and one of the targets."""

from __future__ import annotations

import math
from typing import Final

from benchmarks.harness.report import NONE, table, target_table
from benchmarks.overload.measurements import LoadSummary
from benchmarks.overload.scenarios import OverloadBench

HEADINGS: Final = (
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


def report(bench: OverloadBench, machine: str) -> str:
    """Return the whole report in Markdown."""
    rows = table(HEADINGS, (_row(name, summary) for name, summary in bench.rows))
    return "\n".join(["# Overload", "", machine, "", *rows, "", *target_table(bench.checks), "", *_details(bench), ""])


def _row(name: str, summary: LoadSummary) -> tuple[str, ...]:
    refused = NONE
    if summary.refused:
        refused = f"{summary.refused} ({', '.join(f'{code}: {count}' for code, count in summary.refusals.items())})"
    return (
        name,
        f"{summary.offered:.1f}",
        f"{summary.goodput:.1f}",
        f"{summary.goodput_units:.0f}",
        _slashed(summary.p50, summary.p95, summary.p99),
        refused,
        _slashed(summary.refused_p50, summary.refused_p99),
        ", ".join(f"{code}: {count}" for code, count in summary.others.items()) or "0",
        f"{summary.proxy_cpu_ms:.1f} / {summary.apiserver_cpu_ms:.1f} / {summary.engine_cpu_ms:.1f}",
        f"{_slashed(summary.late_p99, summary.late_max)}, {summary.load_cpu_percent:.0f} %",
    )


def _slashed(*numbers: float) -> str:
    return " / ".join(NONE if math.isnan(number) else f"{number:.0f}" for number in numbers)


def _details(bench: OverloadBench) -> list[str]:
    details = bench.details
    lines: list[str] = []
    if peak := details.get("peak"):
        lines.append(
            f"Peak, of the medians of each rate and of the closed loop: {peak['requests']:.1f} requests/s, "
            f"{peak['units']:.1f} units/s."
        )
    for number, burst in enumerate(details.get("retries", []), 1):
        lines.append(
            f"Burst {number}: {burst['refused']} refused, {burst['retried']} came back, {burst['succeeded']:.0f} % of them "
            f"with success ({burst['retried_later']} after the burst, {burst['succeeded_later']:.0f} %); Retry-After "
            f"{burst['median_wait']:.0f} s in the middle, {burst['longest_wait']:.0f} s at most."
        )
    if "seldom_p95_ratio" in details:
        lines.append(
            f"Flood beside: the other caller's p95 is {details['seldom_p95_ratio']:.2f} times that alone, "
            f"its slowest response took {details['seldom_slowest_ms']:.0f} ms."
        )
    lines += [f"The generator fell behind its schedule: {late}." for late in details.get("late", [])]
    return lines
