"""Rows in which nothing breaks: a calm time, more and fewer servers, keys switched on, everything stopped."""

from __future__ import annotations

import asyncio
import time

from benchmarks.harness.load import failures
from tests.compose.deployment import LOOK_SECONDS
from tests.compose.result import broken_off
from tests.compose.rows.row import RowRun
from tests.compose.traffic import SENTENCES
from tests.support.waiting import wait_until

MANY = 3
LONG_REQUESTS = 4
# Some seconds of work for the engine.
LONG_SENTENCES = 400
IN_FLIGHT_SECONDS = 10.0


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


async def keys_switched_on(run: RowRun) -> None:
    """Switch keys on while callers send theirs already; then a caller without one is refused."""
    run.fleet.set(PROXY_KEYS="on")
    await run.fleet.make("roll")
    await run.fleet.until_whole()
    status = await run.traffic.status_without_key()
    run.result.checks.holds("a caller without a key is refused", status == 401, measured=str(status), limit="401")


async def all_stopped(run: RowRun) -> None:
    """``docker compose down`` with long requests in flight."""
    texts = [f"{SENTENCES['en-de'].format(50 + number)} " * LONG_SENTENCES for number in range(LONG_REQUESTS)]
    tasks = [asyncio.create_task(run.traffic.translate("en-de", text)) for text in texts]
    await wait_until(lambda: _are_in_flight(run), IN_FLIGHT_SECONDS, "long requests in flight", pause=LOOK_SECONDS)
    # What the load sent until now was accepted.
    run.began = time.monotonic()
    await run.fleet.compose("down")
    answers = await asyncio.gather(*tasks)
    right = sum(not answer.failed for answer in answers)
    # A slow machine's server accepts fewer of them.
    accepted = sum(answer.code != "overloaded" for answer in answers)
    run.note("long requests answered", f"{right} of {LONG_REQUESTS} {failures(answers) or ''}".rstrip())
    run.result.checks.holds("every accepted long request was answered", 0 < right == accepted, measured=str(right))
    broken = broken_off(run.traffic.samples)
    run.result.checks.at_most("accepted requests without an answer", len(broken), 0, timing=False)
    left = await run.fleet.containers("proxy", stopped=True)
    run.result.checks.holds("no container is left", not left)


async def _are_in_flight(run: RowRun) -> bool:
    return await run.fleet.in_flight() >= LONG_REQUESTS
