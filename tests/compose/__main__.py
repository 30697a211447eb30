"""Compose file for real, under a keyed load over every pair; nothing may fail but what loses its only server.

    make compose-test                                              # every row, about 25 minutes
    python -m tests.compose --rows scale,kill --rate 20 --out .run/compose

It needs Docker (``DOCKER_HOST`` as it is) with compose 2.24 or newer, ``make``, 16 GB of memory, and the images in
``deploy/images.yml``, pulled or tagged. ``PAIRWAY_WHEELS`` is passed on to the builds. The fleet is a project of
its own, made in a temporary copy of this checkout, and removed at the end. Exit status 1 when a target is missed. The
report is OUT/report.md, the figures OUT/results.json, every command with its output OUT/commands.log.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.harness.load import raise_priority
from benchmarks.harness.report import Checks, RunFolder
from tests.compose.commands import CommandFailedError
from tests.compose.deployment import PROJECT, Deployment, deployed
from tests.compose.report import report
from tests.compose.result import RowResult
from tests.compose.rows.row import Pace, Row, measure
from tests.compose.rows.table import NAMES, ROWS
from tests.compose.traffic import PAIRS

# A row that takes longer than this will not end by itself.
ROW_SECONDS: Final = 1800.0
EXIT_FAILED: Final = 1


async def run_rows(rows: Sequence[Row], pace: Pace, out: Path) -> tuple[list[RowResult], Checks]:
    """Run the rows on one fleet; return their results, and whether anything of the fleet is left."""
    results: list[RowResult] = []
    leftovers: list[str] = []
    with tempfile.TemporaryDirectory(prefix=f"{PROJECT}-") as folder, contextlib.suppress(asyncio.CancelledError):
        async with deployed(Path(folder) / "pairway", out, leftovers) as fleet:
            await fleet.prepare({"PROXY_KEYS": "off"})
            await fleet.create_key()
            for row in rows:
                result = await run_row(row, fleet, pace, out)
                results.append(result)
    removal = Checks()
    removal.holds("nothing of the fleet is left", not leftovers, measured=", ".join(leftovers))
    return results, removal


async def run_row(row: Row, fleet: Deployment, pace: Pace, out: Path) -> RowResult:
    """Run one row; where it missed a target, keep the containers' last lines."""
    print(f"{row.name} …", flush=True)
    began = time.monotonic()
    try:
        async with asyncio.timeout(ROW_SECONDS):
            result = await measure(row, fleet, pace)
    except TimeoutError:
        result = RowResult(row.name, row.action, row.via)
        result.checks.holds("the row came to its end", fact=False, measured=f"not within {ROW_SECONDS:g} s")
    missed = "; ".join(f"{each.name} {each.measured} ({each.limit})" for each in result.checks.missed(timings=True))
    if missed:
        await fleet.logs(out / f"{row.name}.log")
    # At once, because a run is long.
    await asyncio.to_thread((out / f"{row.name}.json").write_text, json.dumps(asdict(result), indent=1))
    figures = f"{result.failed} of {result.requests} failed {result.kinds or ''}, p95 {result.p95_ms:.0f} ms"
    print(
        f"    {time.monotonic() - began:.0f} s, {figures}, {'missed: ' + missed if missed else 'targets met'}",
        flush=True,
    )
    return result


def chosen(names: str) -> list[Row]:
    """Return the chosen rows in the table's order."""
    chosen_names = names.split(",") if names else list(NAMES)
    if unknown := set(chosen_names) - set(NAMES):
        raise SystemExit(f"compose: no row {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    return [row for row in ROWS if row.name in chosen_names]


@contextlib.contextmanager
def alone() -> Generator[None]:
    """Keep other runs away, which would remove this one's fleet; raises SystemExit where one is under way."""
    path = Path(tempfile.gettempdir()) / f"{PROJECT}-{os.getuid()}.lock"
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"compose: another run holds {path}") from None
        yield


async def run_until_signalled(rows: Sequence[Row], pace: Pace, out: Path) -> tuple[list[RowResult], Checks]:
    """Run the rows; SIGTERM and Ctrl-C end them, and the fleet is removed all the same."""
    task = asyncio.create_task(run_rows(rows, pace, out))

    def end() -> None:
        # Only once: the removal must come to its end.
        if not task.cancelling():
            task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end)
    return await task


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.compose", description="The compose file under load.")
    parser.add_argument("--rows", default="", help=f"comma-separated (default: all): {', '.join(NAMES)}")
    parser.add_argument("--rate", type=float, default=Pace.rate, help="requests a second (default: %(default)s)")
    parser.add_argument("--calm", type=float, default=Pace.calm, help="seconds of the calm time (default: %(default)s)")
    parser.add_argument(
        "--after", type=float, default=Pace.after, help="seconds of load after an event (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path(".run/compose"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    rows = chosen(options.rows)
    pace = Pace(rate=options.rate, calm=options.calm, after=options.after)
    with alone():
        folder = RunFolder(options.out)
        # The load has the program's process, and a late load is no load.
        raise_priority()
        try:
            results, removal = asyncio.run(run_until_signalled(rows, pace, folder.path))
        except CommandFailedError as error:
            print(f"compose: {error}", file=sys.stderr)
            return EXIT_FAILED
    machine = f"{folder.machine}; {pace.rate:g} requests/s over {len(PAIRS)} pairs, keyed; two proxies behind the edge."
    figures = [asdict(result) | {"met": result.checks.met} for result in results]
    folder.write(report(results, len(rows), ["# Compose under load", "", machine], removal), figures)
    whole = len(results) == len(rows) and removal.met
    return 0 if whole and all(result.checks.met for result in results) else EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
