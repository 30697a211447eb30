"""Report of a comparison, in Markdown. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from benchmarks.harness.report import NONE, Checks, table, target_table
from benchmarks.proxy.measurements import PeerRow, ProxyMeasurement, Ratio, Rounds

HEADINGS: Final = (
    "proxy",
    "CPU µs a request (least – most)",
    "requests/s",
    "of direct",
    "p50 ms",
    "p99 ms",
    "MB, most",
    "failed",
)
RATIO_HEADINGS: Final = ("CPU per request", "connections", "rounds", "min", "median", "max")
# Of the end of a log.
MAX_REASON_CHARS: Final = 300
OURS_DOES: Final = (
    "What `pairway` does for each request meanwhile: it makes the request's id and its log line; parses the JSON and checks it "
    "against the limits; finds the pair's route in the Snapshot (through a third language where need be); shares equal requests "
    "in flight; holds the fleet's capacity against the request's priority and cost; picks one of two replicas (power of two "
    "choices on load and latency); keeps both circuit breakers, the retry budget and the hedge's timer; sends the "
    "deadline to the replica; watches whether the client is still there; counts it in the metrics. Beside that: it probes "
    "the replicas every second, and Redis."
)
OTHERS_DO: Final = (
    "`direct` is the replica without a proxy. `vllm-router` and `litellm` are sent an OpenAI chat completion of the same "
    "text, the others `/translate`. `vllm-router` parses the JSON, picks by power of two choices and keeps breakers and "
    "metrics; `litellm` maps the request to its own form and back, and counts costs; `nginx` (one worker, least_conn) and "
    "`fastapi-httpx` (benchmarks/proxy/peers/fastapi_httpx.py) relay bytes. `pairway-quiet` writes no line for each request, as "
    "the others write none; `asgi-aiohttp` (benchmarks/proxy/peers/asgi_aiohttp.py) is the least that a Python proxy of libraries costs."
)


def line(measured: ProxyMeasurement) -> str:
    """Return the printed line of a measurement."""
    errors = f", failed: {measured.errors}" if measured.errors else ""
    load = 1e6 * measured.load_cpu / max(1, measured.answers)
    return (
        f"round {measured.round + 1} c={measured.connections:<3} {measured.peer:14} {measured.cpu_us:8.1f} µs "
        f"{measured.rate:8.0f}/s p50 {measured.p50:.2f} p99 {measured.p99:.2f} ms, load {load:.0f} µs{errors}"
    )


def report(rounds: Rounds, checks: Checks, machine: str, missing: Mapping[str, str]) -> str:
    """Return all tables."""
    lines = ["# The proxy against others", "", machine, "", OTHERS_DO, "", OURS_DOES]
    for connections in rounds.connections:
        lines += ["", f"## {connections} connection{'s' if connections > 1 else ''}", ""]
        lines += table(HEADINGS, map(_cells, rounds.rows(connections)))
    if ratios := rounds.version_ratios():
        lines += ["", "## Versions", "", *table(RATIO_HEADINGS, map(_ratio_cells, ratios))]
    if missing:
        lines += ["", "## Left out", ""]
        lines += [f"* {name}: {' '.join(reason.split())[-MAX_REASON_CHARS:]}" for name, reason in missing.items()]
    if checks.checks:
        lines += ["", *target_table(checks)]
    return "\n".join([*lines, ""])


def _cells(row: PeerRow) -> tuple[str, ...]:
    least, most = row.cpu_range
    direct = not most
    return (
        row.peer,
        NONE if direct else f"{row.cpu_us:.0f} ({least:.0f} – {most:.0f})",
        f"{row.rate:.0f}",
        NONE if math.isnan(row.of_direct) else f"{row.of_direct:.3f}",
        f"{row.p50:.2f}",
        f"{row.p99:.2f}",
        NONE if direct else f"{row.rss_mb:.0f}",
        ", ".join(f"{count} {error}" for error, count in row.errors.items()) or "0",
    )


def _ratio_cells(ratio: Ratio) -> tuple[str, ...]:
    figures = (f"{value:.3f}" for value in (ratio.least, ratio.median, ratio.most))
    return f"{ratio.peer} / {ratio.other}", str(ratio.connections), str(ratio.rounds), *figures
