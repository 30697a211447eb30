"""Rows whose fault is in the clients: bad requests, and clients that leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.faults.result import Result, Times
from tests.faults.scene import MAX_TEXT_CHARS, RATE, Scene
from tests.waiting import wait_until

REQUESTS = 40
CLIENTS = 10
GONE_WITHIN_SECONDS = 5.0
# Longer than the clients stay.
LONG_SECONDS = 10.0
NORMAL_SECONDS = 0.02


async def bad_requests(scene: Scene, times: Times) -> Result:
    """40 bad requests, most of them refused by the replicas, then 40 good ones."""
    del times
    good = {"text": "Room 7.", "source_lang": "en", "target_lang": "de"}
    long = {**good, "text": "a " * MAX_TEXT_CHARS}  # the proxy takes it, no replica does
    bodies = [b"no JSON", {**good, "colour": "red"}, long, long] * (REQUESTS // 4)
    refused = await asyncio.gather(*(scene.translate(body) for body in bodies))
    served: list[int] = []
    for _ in range(REQUESTS):
        began = time.monotonic()
        status, _, _ = await scene.translate(good)
        served.append(status)
        await asyncio.sleep(max(0.0, 1 / RATE - (time.monotonic() - began)))
    result = Result("bad-requests")
    statuses = [status for status, _, _ in refused]
    wanted = [400, 422, 413, 413] * (REQUESTS // 4)
    found = f"{sum(a == b for a, b in zip(statuses, wanted, strict=True))} of {REQUESTS}"
    result.promise_that(
        "bad ones refused as the client's fault", statuses == wanted, found=found, promised=str(REQUESTS)
    )
    percent = 100 * served.count(200) / REQUESTS
    result.more["good_percent"] = percent
    result.promise_at_least("good ones served", found=percent, at_least=100, unit=" %", figure=False)
    return result


async def clients_leave(scene: Scene, times: Times) -> Result:
    """10 clients hang up: the engines drop the work of each, and nothing is left running."""
    del times
    tag = f"leave{time.monotonic_ns()}"
    result = Result("clients-leave")
    dropped = 0
    async with slow_engines(scene):
        await leave(scene, tag)
        began = time.monotonic()
        while time.monotonic() < began + GONE_WITHIN_SECONDS and (dropped < CLIENTS or await _running(scene)):
            gone = {one for replica in scene.replicas for one in (await replica.script())["aborted"]}
            dropped = sum(any(one.startswith(f"{tag}-{number}-") for one in gone) for number in range(CLIENTS))
            await asyncio.sleep(0.02)
        result.more["seconds"] = time.monotonic() - began
        result.promise("still running", found=await _running(scene), at_most=0, figure=False)
    result.more["aborts"] = dropped
    result.promise_at_least("engine aborts", found=dropped, at_least=CLIENTS, unit=f" of {CLIENTS}", figure=False)
    return result


@asynccontextmanager
async def slow_engines(scene: Scene) -> AsyncGenerator[None]:
    """Let every engine take its time while the block lasts."""
    for replica in scene.replicas:
        await replica.script(delay=LONG_SECONDS)
    try:
        yield
    finally:
        for replica in scene.replicas:
            await replica.script(delay=NORMAL_SECONDS)


async def leave(scene: Scene, tag: str) -> None:
    """Send 10 requests, ``TAG-0`` to ``TAG-9``, and hang up when they run."""
    tasks = [asyncio.create_task(_ask(scene, f"{tag}-{number}")) for number in range(CLIENTS)]
    await wait_until(lambda: _all_run(scene, CLIENTS), 5, "every client's request runs")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(scene: Scene, request_id: str) -> None:
    body = {"text": f"Room {request_id}.", "source_lang": "en", "target_lang": "de"}
    async with scene.session.post(
        f"{scene.proxy.url}/translate", json=body, headers={"X-Request-Id": request_id}
    ) as response:
        await response.read()


async def _running(scene: Scene) -> int:
    return sum([(await replica.script())["running"] for replica in scene.replicas])


async def _all_run(scene: Scene, number: int) -> bool:
    return await _running(scene) >= number
