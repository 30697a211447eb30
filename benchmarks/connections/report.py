"""Targets and report of the connections benchmark. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.connections.phases import Phase
from benchmarks.harness.report import NONE, Checks, table, target_table

# What docker compose gives a proxy (PAIRWAY_PROXY_MEMORY).
MAX_MEMORY_MB: Final = 512
MAX_P99_RATIO: Final = 2.0
HEADINGS: Final = (
    "clients",
    "open",
    "closed by the proxy",
    "p50 / p99 ms",
    "failed",
    "proxy CPU",
    "proxy MB, most",
    "open files, most",
    "MB after",
)


def judge(phases: Sequence[Phase]) -> Checks:
    """Check that nobody else feels the clients, that memory is bounded, and that what was closed is freed."""
    checks = Checks()
    # The better of the two: a machine that was busy with something else is no excuse.
    alone = min(phases[0].p99, phases[-1].p99)
    for phase in phases[1:-1]:
        failed = 100 * sum(phase.failures.values()) / max(1, phase.requests)
        checks.at_most(f"{phase.name}: the others' requests that failed", failed, 0, " %")
        checks.at_most(f"{phase.name}: their p99, of that alone", phase.p99 / alone, MAX_P99_RATIO)
        checks.at_most(f"{phase.name}: memory of the proxy", phase.max_rss, MAX_MEMORY_MB, " MB")
        if phase.after is not None:
            checks.at_most(f"{phase.name}: connections left after it", phase.left, 0)
    return checks


def report(phases: Sequence[Phase], checks: Checks, machine: str) -> str:
    """Return the report in Markdown."""
    rows = table(HEADINGS, map(_cells, phases))
    return "\n".join(["# Connections", "", machine, "", *rows, "", *target_table(checks), ""])


def _cells(phase: Phase) -> tuple[str, ...]:
    clients = phase.clients
    return (
        phase.name,
        f"{clients['open']} in {clients['seconds']:.1f} s" if clients else NONE,
        _closed(phase) if clients else NONE,
        f"{phase.p50:.0f} / {phase.p99:.0f}",
        f"{sum(phase.failures.values())} of {phase.requests}",
        f"{phase.cpu_percent:.0f} %",
        f"{phase.max_rss:.0f}",
        f"{phase.max_files}",
        f"{phase.after.rss:.0f}" if phase.after else NONE,
    )


def _closed(phase: Phase) -> str:
    clients = phase.clients
    lasted = " / ".join(f"{seconds:.1f}" for seconds in clients["closed_after"])
    statuses = ", ".join(f"{status}: {count}" for status, count in clients["statuses"].items())
    closed = f"{clients['closed']}{f' after {lasted} s' if lasted else ''}"
    return f"{closed} (answered {statuses}, after {clients['answered_after']:.1f} s)" if statuses else closed
