"""Scenarios whose fault is in the clients: bad requests, and clients that leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.faults.fleet import MAX_TEXT_CHARS, RATE, FaultFleet
from tests.faults.result import ScenarioResult, Timing
from tests.support.waiting import wait_until

REQUESTS = 40
CLIENTS = 10
GONE_WITHIN_SECONDS = 5.0
# Longer than the clients stay.
LONG_SECONDS = 10.0
NORMAL_SECONDS = 0.02


async def bad_requests(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
    """40 bad requests, most of them refused by the replicas, then 40 good ones."""
    del timing
    good = {"text": "Room 7.", "source_lang": "en", "target_lang": "de"}
    long = {**good, "text": "a " * MAX_TEXT_CHARS}  # the proxy takes it, no replica does
    bodies = [b"no JSON", {**good, "colour": "red"}, long, long] * (REQUESTS // 4)
    refused = await asyncio.gather(*(fleet.translate(body) for body in bodies))
    served: list[int] = []
    for _ in range(REQUESTS):
        began = time.monotonic()
        status, _, _ = await fleet.translate(good)
        served.append(status)
        await asyncio.sleep(max(0.0, 1 / RATE - (time.monotonic() - began)))
    result = ScenarioResult("bad-requests")
    statuses = [status for status, _, _ in refused]
    wanted = [400, 422, 413, 413] * (REQUESTS // 4)
    matching = f"{sum(a == b for a, b in zip(statuses, wanted, strict=True))} of {REQUESTS}"
    result.checks.holds(
        "bad ones refused as the client's fault", statuses == wanted, measured=matching, limit=str(REQUESTS)
    )
    percent = 100 * served.count(200) / REQUESTS
    result.details["good_percent"] = percent
    result.checks.at_least("good ones served", percent, 100, " %", timing=False)
    return result


async def clients_leave(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
    """10 clients hang up: the engines drop the work of each, and nothing is left running."""
    del timing
    tag = f"leave{time.monotonic_ns()}"
    result = ScenarioResult("clients-leave")
    dropped = 0
    async with slow_engines(fleet):
        await leave(fleet, tag)
        began = time.monotonic()
        while time.monotonic() < began + GONE_WITHIN_SECONDS and (dropped < CLIENTS or await _running(fleet)):
            gone = {one for replica in fleet.replicas for one in (await replica.script())["aborted"]}
            dropped = sum(any(one.startswith(f"{tag}-{number}-") for one in gone) for number in range(CLIENTS))
            await asyncio.sleep(0.02)
        result.details["seconds"] = time.monotonic() - began
        result.checks.at_most("still running", await _running(fleet), 0, timing=False)
    result.details["aborts"] = dropped
    result.checks.at_least("engine aborts", dropped, CLIENTS, f" of {CLIENTS}", timing=False)
    return result


@asynccontextmanager
async def slow_engines(fleet: FaultFleet) -> AsyncGenerator[None]:
    """Let every engine take its time while the block lasts."""
    for replica in fleet.replicas:
        await replica.script(delay=LONG_SECONDS)
    try:
        yield
    finally:
        for replica in fleet.replicas:
            await replica.script(delay=NORMAL_SECONDS)


async def leave(fleet: FaultFleet, tag: str) -> None:
    """Send 10 requests, ``TAG-0`` to ``TAG-9``, and hang up when they run."""
    tasks = [asyncio.create_task(_ask(fleet, f"{tag}-{number}")) for number in range(CLIENTS)]
    await wait_until(lambda: _all_run(fleet, CLIENTS), 5, "every client's request runs")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(fleet: FaultFleet, request_id: str) -> None:
    body = {"text": f"Room {request_id}.", "source_lang": "en", "target_lang": "de"}
    async with fleet.session.post(
        f"{fleet.proxy.url}/translate", json=body, headers={"X-Request-Id": request_id}
    ) as response:
        await response.read()


async def _running(fleet: FaultFleet) -> int:
    return sum([(await replica.script())["running"] for replica in fleet.replicas])


async def _all_run(fleet: FaultFleet, number: int) -> bool:
    return await _running(fleet) >= number
