"""``python -m tests.hostile``: every hostile input, in growing sizes, on both servers; fail where a loop stands still.

    make bench-hostile
    python -m tests.hostile --rows 'POST /translate' --doublings 2 --out .run/hostile

The report is OUT/report.md, the figures OUT/results.json. Exit status 1 when a row breaks the rule.
"""

from __future__ import annotations

import math
import re
import sys
from typing import Any, Final

from benchmarks.harness.program import options_parser, run_guarded
from benchmarks.harness.report import NONE, Checks, RunFolder, table
from tests.hostile.measuring import COUNTED_SECONDS, MAX_RATIO, Result, Row
from tests.hostile.run import all_rows, measured, prepare
from tests.hostile.servers import HostileFleet

MAX_STALL_MS: Final = 50.0
# What the report's table shows: the rows that come nearest to a limit; the others are in results.json.
SHOWN_ROWS: Final = 60
HEADINGS: Final = ("server", "endpoint", "input", "size", "ms of processor time", "longest stall, ms", "exponent", "")


def cells(result: Result, max_stall: float) -> tuple[str, ...]:
    """Return a result's row of the table."""
    cost, exponent = result.costs[result.size], result.exponent
    return (
        result.row.server,
        result.row.endpoint,
        result.row.name,
        f"{result.size:,}",
        f"{1000 * cost.seconds:.1f}",
        f"{1000 * result.stall:.0f}",
        NONE if math.isnan(exponent) else f"{exponent:.2f}",
        "; ".join(result.faults(max_stall)),
    )


def figures(result: Result, max_stall: float) -> dict[str, Any]:
    """Return a result as JSON."""
    costs = {str(size): cost._asdict() for size, cost in result.costs.items()}
    return {"row": result.row.title, "costs": costs, "faults": result.faults(max_stall), "where": result.where}


async def run(fleet: HostileFleet, rows: list[Row], max_stall: float, doublings: int) -> list[Result]:
    """Measure the rows, and print each."""

    def show(result: Result) -> None:
        print(" | ".join(cells(result, max_stall)), result.where, flush=True)

    async with fleet.running():
        prepare(fleet.proxy)
        return measured(fleet, rows, max_stall, doublings, show)


def main() -> int:
    """Measure, write, print."""
    parser = options_parser("hostile", "Hostile inputs of growing size.")
    parser.add_argument("--rows", default="", help="only rows whose server, endpoint and input match this pattern")
    parser.add_argument("--doublings", type=int, default=5, help="how often the size doubles up to its limit")
    parser.add_argument("--max-stall", type=float, default=MAX_STALL_MS, help="longest stall allowed, in ms")
    options = parser.parse_args()
    folder, max_stall = RunFolder(options.out), options.max_stall / 1000
    rows = [row for row in all_rows() if re.search(options.rows, row.title)]
    results = run_guarded(run(HostileFleet(folder.path), rows, max_stall, options.doublings))
    checks = Checks()
    checks.at_most("rows that break the rule", sum(bool(each.faults(max_stall)) for each in results), 0)
    checks.at_most("longest stall", 1000 * max(each.stall for each in results), options.max_stall, " ms")
    ratios = [each.ratio for each in results if not math.isnan(each.ratio)]
    checks.at_most("cost of twice the size", max(ratios, default=1.0), MAX_RATIO)
    results.sort(key=lambda each: (not each.faults(max_stall), -each.stall))
    note = f"{len(results)} rows; twice the size counts from {1000 * COUNTED_SECONDS:.0f} ms on; stalls from the smallest of up to 3 requests"
    lines = table(HEADINGS, (cells(each, max_stall) for each in results[:SHOWN_ROWS]))
    return folder.publish(
        "Hostile inputs", note, lines, {"rows": [figures(each, max_stall) for each in results]}, checks
    )


if __name__ == "__main__":
    sys.exit(main())
