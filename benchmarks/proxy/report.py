"""The report of a comparison, in Markdown. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.proxy.measurements import Found, Rounds, Row
    from tests.faults.result import Result

HEADS: Final = [
    "proxy",
    "CPU µs a request (least – most)",
    "requests/s",
    "of direct",
    "p50 ms",
    "p99 ms",
    "MB, most",
    "failed",
]
# Of the end of a log.
MOST_WHY: Final = 300
OURS_DOES: Final = (
    "What `pairway` does for each request meanwhile: it makes the request's id and its log line; parses the JSON and checks it "
    "against the limits; finds the pair's route in the Snapshot (through a third language where need be); shares equal requests "
    "in flight; holds the fleet's room against the request's priority and cost; picks one of two replicas (power of two "
    "choices on load, pace and standing); keeps both circuit breakers, the retry budget and the hedge's timer; carries the "
    "Deadline to the replica; watches whether the client is still there; counts it in the metrics. Beside that: a sweep over "
    "the replicas every second, and Redis."
)
OTHERS_DO: Final = (
    "`direct` is the replica without a proxy. `vllm-router` and `litellm` are asked for an OpenAI chat completion of the same "
    "text, the others for `/translate`. `vllm-router` parses the JSON, picks by power of two choices and keeps breakers and "
    "metrics; `litellm` maps the request to its own form and back, and counts costs; `nginx` (one worker, least_conn) and "
    "`fastapi-httpx` (benchmarks/proxy/peers/fastapi_httpx.py) relay bytes. `pairway-quiet` writes no line for each request, as the others "
    "write none; `asgi-aiohttp` (benchmarks/proxy/peers/asgi_aiohttp.py) is the least that a Python proxy of libraries costs."
)


def line(found: Found) -> str:
    """Return what is printed of each measurement."""
    errors = f", failed: {found.errors}" if found.errors else ""
    return (
        f"round {found.round + 1} c={found.connections:<3} {found.peer:14} {found.cpu_us:8.1f} µs {found.rate:8.0f}/s "
        f"p50 {found.p50:.2f} p99 {found.p99:.2f} ms, load {1e6 * found.load_cpu / max(1, found.answers):.0f} µs{errors}"
    )


def report(rounds: Rounds, result: Result, machine: str, missing: Mapping[str, str]) -> str:
    """Return all tables."""
    lines = ["# The proxy against others", "", machine, "", OTHERS_DO, "", OURS_DOES]
    for connections in rounds.connections:
        lines += ["", f"## {connections} connection{'s' if connections > 1 else ''}", "", *_head(HEADS)]
        lines += [_cells(row) for row in rounds.rows(connections)]
    if missing:
        lines += ["", "## Left out", ""]
        lines += [f"* {name}: {' '.join(why.split())[-MOST_WHY:]}" for name, why in missing.items()]
    if result.checks:
        lines += ["", *_head(("target", "found", "promised", ""))]
        lines += [
            f"| {check.what} | {check.found} | {check.promised} | {'met' if check.met else '**missed**'} |"
            for check in result.checks
        ]
    return "\n".join([*lines, ""])


def _cells(row: Row) -> str:
    least, most = row.cpu_range
    direct = not most
    cells = (
        row.peer,
        "–" if direct else f"{row.cpu_us:.0f} ({least:.0f} – {most:.0f})",
        f"{row.rate:.0f}",
        f"{row.of_direct:.3f}",
        f"{row.p50:.2f}",
        f"{row.p99:.2f}",
        "–" if direct else f"{row.rss_mb:.0f}",
        ", ".join(f"{count} {error}" for error, count in row.errors.items()) or "0",
    )
    return f"| {' | '.join(cells)} |"


def _head(heads: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
