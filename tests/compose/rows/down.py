"""Row in which everything is stopped: what was accepted is answered."""

from __future__ import annotations

import asyncio
import time

from tests.compose.deployment import LOOK_SECONDS
from tests.compose.result import broken_off
from tests.compose.rows.row import RowRun
from tests.compose.traffic import SENTENCES
from tests.support.waiting import wait_until

LONG_REQUESTS = 4
# Some seconds of work for the engine.
LONG_SENTENCES = 400
IN_FLIGHT_SECONDS = 10.0


async def everything(run: RowRun) -> None:
    """``docker compose down`` with long requests in flight."""
    texts = [f"{SENTENCES['en-de'].format(50 + number)} " * LONG_SENTENCES for number in range(LONG_REQUESTS)]
    tasks = [asyncio.create_task(run.traffic.translate("en-de", text)) for text in texts]
    await wait_until(lambda: _are_in_flight(run), IN_FLIGHT_SECONDS, "long requests in flight", pause=LOOK_SECONDS)
    # What the load sent until now was accepted.
    run.began = time.monotonic()
    await run.fleet.compose("down")
    answers = await asyncio.gather(*tasks)
    right = sum(not answer.failed for answer in answers)
    run.note("long requests answered", f"{right} of {LONG_REQUESTS}")
    run.result.checks.holds("every accepted long request was answered", right == LONG_REQUESTS, measured=str(right))
    broken = broken_off(run.traffic.samples)
    run.result.checks.at_most("accepted requests without an answer", len(broken), 0, timing=False)
    left = await run.fleet.containers("proxy", stopped=True)
    run.result.checks.holds("no container is left", not left)


async def _are_in_flight(run: RowRun) -> bool:
    return await run.fleet.in_flight() >= LONG_REQUESTS
