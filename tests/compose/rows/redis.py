"""Rows in which Redis restarts or is lost; keys stay on its volume."""

from __future__ import annotations

import asyncio

from tests.compose.rows.row import RowRun

LOST_SECONDS = 15.0


async def restarted(run: RowRun) -> None:
    """``docker compose restart redis``."""
    await run.fleet.compose("restart", "redis")
    await run.fleet.until_whole()


async def lost(run: RowRun) -> None:
    """Kill Redis, and start it again after a time."""
    await run.fleet.compose("kill", "redis")
    await asyncio.sleep(LOST_SECONDS)
    run.note("pairs served without it", len(run.traffic.served_since(run.began)))
    await run.fleet.compose("up", "-d", "--wait")
    await run.fleet.until_whole()
