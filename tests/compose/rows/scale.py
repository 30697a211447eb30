"""Rows without a fault: a calm time, and more and fewer servers."""

from __future__ import annotations

import asyncio

from tests.compose.rows.row import RowRun

MANY = 3


async def calm(run: RowRun) -> None:
    """Do nothing."""
    await asyncio.sleep(max(0.0, run.pace.calm - run.pace.after))


async def up_and_down(run: RowRun) -> None:
    """Scale German from 1 to 3 servers and back, by the number in ``.env``."""
    await _scale_to(run, MANY)
    run.note("3 serve after", run.seconds())
    await asyncio.sleep(run.pace.after)
    before = run.seconds()
    await _scale_to(run, 1)
    run.note("1 again after another", run.seconds() - before)


async def _scale_to(run: RowRun, number: int) -> None:
    run.fleet.set(PAIRWAY_DE_REPLICAS=str(number))
    await run.fleet.compose("up", "-d", "--wait")
    await run.fleet.expect()
    await run.fleet.until_whole()
