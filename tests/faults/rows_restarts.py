"""Rows of planned and unplanned ends: SIGTERM, a rolling restart, all replicas of a pair gone."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import replace
from typing import Any

from tests.faults import course, outcomes
from tests.faults.outcomes import Outcome
from tests.faults.result import MOST_ATTEMPTS_IN_FAULT, MOST_ATTEMPTS_SHORT, Phase, Result, Times
from tests.faults.scene import Scene
from tests.processes import Server
from tests.waiting import wait_until

IN_FLIGHT = 20
IN_FLIGHT_SECONDS = 1.5
NORMAL_SECONDS = 0.02
# Drain, the longest request here, and what a busy machine adds.
EXIT_SECONDS = 30.0
MOST_REFUSAL_MS = 50.0
MOST_SECONDS_TO_FIRST_SUCCESS = 2.0


async def replica_terminated(scene: Scene, times: Times) -> Result:
    """SIGTERM of a replica with its part of 20 requests in flight."""
    del times
    victim = scene.replicas[1].server
    result = await _terminated(scene, "sigterm-replica", victim)
    victim.start()
    await scene.until_whole()
    return result


async def proxy_terminated(scene: Scene, times: Times) -> Result:
    """SIGTERM of the proxy with 20 requests in flight."""
    del times
    result = await _terminated(scene, "sigterm-proxy", scene.proxy.server)
    scene.proxy.server.start()
    await scene.until_whole()
    return result


async def _terminated(scene: Scene, row: str, server: Server) -> Result:
    for replica in scene.replicas:
        await replica.script(delay=IN_FLIGHT_SECONDS)
    bodies = [{"text": f"Room {number}.", "source_lang": "en", "target_lang": "de"} for number in range(IN_FLIGHT)]
    tasks = [asyncio.create_task(scene.translate(body)) for body in bodies]
    await wait_until(lambda: _all_run(scene), 5, "20 in flight")
    began = time.monotonic()
    server.signal(signal.SIGTERM)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    right = sum(_is_right(answer, number) for number, answer in enumerate(answers))
    assert server.process is not None
    code = await asyncio.to_thread(server.process.wait, EXIT_SECONDS)
    result = Result(row, more={"lost": IN_FLIGHT - right, "exit_seconds": time.monotonic() - began})
    for replica in scene.replicas:
        if replica.server.process is not None and replica.server.process.poll() is None:
            await replica.script(delay=NORMAL_SECONDS)
    result.promise("requests lost", found=IN_FLIGHT - right, at_most=0, unit=f" of {IN_FLIGHT}", figure=False)
    result.promise_that("exit status 0", code == 0, found=str(code), promised="0")
    return result


async def _all_run(scene: Scene) -> bool:
    return sum([(await replica.script())["running"] for replica in scene.replicas]) >= IN_FLIGHT


def _is_right(answer: tuple[int, dict[str, Any], float] | BaseException, number: int) -> bool:
    if isinstance(answer, BaseException):
        return False
    status, said, _ = answer
    return status == 200 and said["translation"] == f"[Room {number}.]"


async def rolling_restart(scene: Scene, times: Times) -> Result:
    """Restart every replica, one after the other, by SIGTERM and start, under load."""
    seconds = 0.0

    async def restart() -> None:
        nonlocal seconds
        began = time.monotonic()
        for replica in scene.replicas:
            replica.server.signal(signal.SIGTERM)
            assert replica.server.process is not None
            await asyncio.to_thread(replica.server.process.wait, EXIT_SECONDS)
            replica.server.start()
            await wait_until(lambda replica=replica: scene.is_ready(replica), scene.setting.ready_within, "it is back")
            await scene.until_whole()
        seconds = time.monotonic() - began

    found = await course.run(scene, replace(times, fault=0.0), inject=restart, heal=_nothing)
    lasted = replace(times, fault=found.healed - found.began)
    result = course.judged("rolling-restart", scene, lasted, found, None)
    result.more["seconds"] = seconds
    return result


async def _nothing() -> None:
    pass


async def all_gone(scene: Scene, times: Times) -> Result:
    """Kill every replica, then start them again."""
    async with scene.loaded(limit=times.limit) as load:
        await asyncio.sleep(times.settle + times.before)
        counted = await scene.metrics()
        began = time.monotonic()
        await asyncio.gather(*(asyncio.to_thread(replica.server.kill) for replica in scene.replicas))
        gone = time.monotonic()
        await asyncio.sleep(times.fault)
        counted_after = await scene.metrics()
        back = time.monotonic()
        for replica in scene.replicas:
            replica.server.start()

        async def any_ready() -> bool:
            return any([await scene.is_ready(replica) for replica in scene.replicas])

        await wait_until(any_ready, scene.setting.ready_within, "a replica is ready")
        ready = time.monotonic()
        await scene.until_whole()
        recovered = await course.recovers(scene.replicas[0], load.plan.name)
        sent = await load.stop()
    refused = outcomes.between(sent, gone, back)
    in_flight = outcomes.between(sent, began - 1, gone)
    result = Result(
        "all-gone",
        before=Phase.of(outcomes.between(sent, began - times.before, began)),
        during=Phase.of(refused),
        failures=outcomes.failures(sent),
    )
    right = [outcome.ended for outcome in sent if not outcome.failed and outcome.ended >= back]
    first = max(0.0, min(right, default=float("inf")) - ready)
    result.more["first_success_seconds"] = first
    result.more["slowest_refusal_ms"] = 1000 * max(outcome.seconds for outcome in refused)
    assert result.during is not None
    clear = sum(_is_refusal(outcome) for outcome in refused)
    result.promise_that(
        "refused with 503 and Retry-After", clear == len(refused), found=f"{clear} of {len(refused)}", promised="all"
    )
    clear = sum(outcome.clear for outcome in in_flight)
    result.promise_that(
        "served or refused clearly when they died",
        clear == len(in_flight),
        found=f"{clear} of {len(in_flight)}",
        promised="all",
    )
    asked = max(1.0, counted_after["begun"] - counted["begun"])
    result.attempts_during = (counted_after["attempts"] - counted["attempts"]) / asked
    most = MOST_ATTEMPTS_SHORT if times.short else MOST_ATTEMPTS_IN_FAULT
    result.promise("attempts per request in the fault", found=result.attempts_during, at_most=most, figure=False)
    result.promise("p99 of the refusals", found=result.during.p99_ms, at_most=MOST_REFUSAL_MS, unit=" ms")
    result.promise("first success after READY", found=first, at_most=MOST_SECONDS_TO_FIRST_SUCCESS, unit=" s")
    result.promise_that("served again", recovered and right)
    return result


def _is_refusal(outcome: Outcome) -> bool:
    return outcome.status == 503 and outcome.code == "pair-unavailable" and outcome.retry_after
