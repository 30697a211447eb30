"""The fault suite's results as tables: ours by scenario, and ours beside the peers'."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from benchmarks.harness.report import NONE, table
from tests.faults.peer_results import CELLS, PEERS
from tests.faults.result import PhaseSummary, ScenarioResult

# Scenarios whose recovery the peers' column is about.
RECOVERY: Final = ("sigkill", "hung-engine", "instant-503", "instant-500", "reset")

EXPLANATION: Final = (
    "Failed, latencies and attempts are those of requests sent while the fault lasted, with those before it in "
    "brackets; its share: of the load's requests, what the faulty replica got; attempts: for each request."
)
HEADINGS: Final = (
    "fault",
    "failed",
    "p50 ms",
    "p99 ms",
    "its share",
    "attempts",
    "share 5 s / later",
    "and",
    "targets",
)


def report(results: Sequence[tuple[str, ScenarioResult]], header: Iterable[str]) -> str:
    """Return the whole report in Markdown, from (fault in words, result) pairs."""
    by_scenario = {result.scenario: result for _, result in results}
    beside = [_beside(words, result) for words, result in results if result.scenario in CELLS]
    if any(scenario in by_scenario for scenario in RECOVERY):
        beside.append(_recovery(by_scenario))
    lines = [
        *header,
        "",
        EXPLANATION,
        "",
        *table(HEADINGS, (_ours(words, result) for words, result in results)),
        "",
        *_missed(results),
        "",
        "Beside the peers (routing.md, b): % of requests failed in the fault (share the faulty server still got).",
        "",
        *table(("fault", "**Pairway**", *PEERS), beside),
        "",
    ]
    return "\n".join(lines)


def _ours(words: str, result: ScenarioResult) -> tuple[str, ...]:
    during, before = result.during, result.before
    return (
        words,
        NONE if during is None else f"{_number(during.failed_percent)} % of {during.requests}",
        _with_before(during, before, "p50_ms"),
        _with_before(during, before, "p99_ms"),
        _percent(result.share),
        _attempts(result),
        NONE if result.share_later is None else f"{_percent(result.share_5s)} / {_percent(result.share_later)}",
        ", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in result.details.items()) or NONE,
        "met" if result.checks.met else "**missed**",
    )


def _with_before(during: PhaseSummary | None, before: PhaseSummary | None, name: str) -> str:
    if during is None:
        return NONE
    now = f"{getattr(during, name):.0f}"
    return now if before is None else f"{now} ({getattr(before, name):.0f})"


def _attempts(result: ScenarioResult) -> str:
    if result.attempts_during is None:
        return NONE
    before = "" if result.attempts_before is None else f" ({result.attempts_before:.2f})"
    return f"{result.attempts_during:.2f}{before}"


def _missed(results: Sequence[tuple[str, ScenarioResult]]) -> list[str]:
    lines = [
        f"* missed, {words}: {check.name} {check.measured}, limit {check.limit}"
        + (f"; {_kinds(result.failures)}" if check.name == "requests failed" else "")
        for words, result in results
        for check in result.checks.missed(timings=True)
    ]
    return lines or ["All targets are met."]


def _kinds(failures: Mapping[str, int]) -> str:
    return ", ".join(f"{count} × {kind}" for kind, count in failures.items())


def _beside(words: str, result: ScenarioResult) -> tuple[str, ...]:
    return (words, f"**{_cell(result)}**", *CELLS[result.scenario])


def _cell(result: ScenarioResult) -> str:
    match result.scenario:
        case "bad-requests":
            return f"good {result.details.get('good_percent', math.nan):.0f} %"
        case "clients-leave":
            return f"{result.details.get('aborts', math.nan):.0f}"
        case "sigterm-proxy":
            return f"{result.details.get('lost', math.nan):.0f} / {result.details.get('exit_seconds', math.nan):.1f} s"
        case _:
            failed = NONE if result.during is None else _number(result.during.failed_percent)
            return f"{failed} ({_percent(result.share)})"


def _recovery(by_scenario: Mapping[str, ScenarioResult]) -> tuple[str, ...]:
    shares = [by_scenario[scenario].share_5s for scenario in RECOVERY if scenario in by_scenario]
    known = [share for share in shares if share is not None]
    ours = f"{_percent(min(known))}–{_percent(max(known))}" if known else NONE
    return ("its share in the 5 s after it healed", f"**{ours}**", *CELLS["recovery"])


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.0f} %"


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
