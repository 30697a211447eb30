"""Scenarios of planned and unplanned ends: SIGTERM, a rolling restart, all replicas of a pair gone."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import replace
from typing import Any

from benchmarks.harness.load import Sample, failures
from tests.faults.fleet import FaultFleet
from tests.faults.result import PhaseSummary, ScenarioResult, Timing
from tests.faults.samples import is_clear, sent_between
from tests.faults.scenarios.run import is_served_again, run_scenario, summarize
from tests.support.processes import Server
from tests.support.waiting import wait_until

IN_FLIGHT = 20
IN_FLIGHT_SECONDS = 1.5
NORMAL_SECONDS = 0.02
# Drain, the longest request here, and what a busy machine adds.
EXIT_SECONDS = 30.0
MAX_REFUSAL_MS = 50.0
MAX_SECONDS_TO_FIRST_SUCCESS = 2.0


async def replica_terminated(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
    """SIGTERM of a replica with its part of 20 requests in flight."""
    del timing
    victim = fleet.replicas[1].server
    result = await _terminated(fleet, "sigterm-replica", victim)
    victim.start()
    await fleet.until_whole()
    return result


async def proxy_terminated(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
    """SIGTERM of the proxy with 20 requests in flight."""
    del timing
    result = await _terminated(fleet, "sigterm-proxy", fleet.proxy.server)
    fleet.proxy.server.start()
    await fleet.until_whole()
    return result


async def _terminated(fleet: FaultFleet, scenario: str, server: Server) -> ScenarioResult:
    for replica in fleet.replicas:
        await replica.script(delay=IN_FLIGHT_SECONDS)
    bodies = [{"text": f"Room {number}.", "source_lang": "en", "target_lang": "de"} for number in range(IN_FLIGHT)]
    tasks = [asyncio.create_task(fleet.translate(body)) for body in bodies]
    await wait_until(lambda: _all_run(fleet), 5, "20 in flight")
    began = time.monotonic()
    server.signal(signal.SIGTERM)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    right = sum(_is_right(answer, number) for number, answer in enumerate(answers))
    assert server.process is not None
    code = await asyncio.to_thread(server.process.wait, EXIT_SECONDS)
    result = ScenarioResult(scenario, details={"lost": IN_FLIGHT - right, "exit_seconds": time.monotonic() - began})
    for replica in fleet.replicas:
        if replica.server.process is not None and replica.server.process.poll() is None:
            await replica.script(delay=NORMAL_SECONDS)
    result.checks.at_most("requests lost", IN_FLIGHT - right, 0, f" of {IN_FLIGHT}", timing=False)
    result.checks.holds("exit status 0", code == 0, measured=str(code), limit="0")
    return result


async def _all_run(fleet: FaultFleet) -> bool:
    return sum([(await replica.script())["running"] for replica in fleet.replicas]) >= IN_FLIGHT


def _is_right(answer: tuple[int, dict[str, Any], float] | BaseException, number: int) -> bool:
    if isinstance(answer, BaseException):
        return False
    status, body, _ = answer
    return status == 200 and body["translation"] == f"[Room {number}.]"


async def rolling_restart(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
    """Restart every replica, one after the other, by SIGTERM and start, under load."""
    seconds = 0.0

    async def restart() -> None:
        nonlocal seconds
        began = time.monotonic()
        for replica in fleet.replicas:
            replica.server.signal(signal.SIGTERM)
            assert replica.server.process is not None
            await asyncio.to_thread(replica.server.process.wait, EXIT_SECONDS)
            replica.server.start()
            await wait_until(lambda replica=replica: fleet.is_ready(replica), fleet.setup.ready_within, "it is back")
            await fleet.until_whole()
        seconds = time.monotonic() - began

    run = await run_scenario(fleet, replace(timing, fault=0.0), inject=restart, heal=_nothing)
    lasted = replace(timing, fault=run.healed - run.began)
    result = summarize("rolling-restart", fleet, lasted, run, None)
    result.details["seconds"] = seconds
    return result


async def _nothing() -> None:
    pass


async def all_gone(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
    """Kill every replica, then start them again."""
    async with fleet.loaded(limit=timing.limit) as load:
        await asyncio.sleep(timing.settle + timing.before)
        counters = await fleet.metrics()
        began = time.monotonic()
        await asyncio.gather(*(asyncio.to_thread(replica.server.kill) for replica in fleet.replicas))
        gone = time.monotonic()
        await asyncio.sleep(timing.fault)
        counters_after = await fleet.metrics()
        back = time.monotonic()
        for replica in fleet.replicas:
            replica.server.start()

        async def any_ready() -> bool:
            return any([await fleet.is_ready(replica) for replica in fleet.replicas])

        await wait_until(any_ready, fleet.setup.ready_within, "a replica is ready")
        ready = time.monotonic()
        await fleet.until_whole()
        recovered = await is_served_again(fleet.replicas[0], load.name)
        samples = (await load.stop()).samples
    refused = sent_between(samples, gone, back)
    in_flight = sent_between(samples, began - 1, gone)
    result = ScenarioResult(
        "all-gone",
        before=PhaseSummary.of(sent_between(samples, began - timing.before, began)),
        during=PhaseSummary.of(refused),
        failures=failures(samples),
    )
    right = [sample.ended for sample in samples if not sample.failed and sample.ended >= back]
    first = max(0.0, min(right, default=float("inf")) - ready)
    result.details["first_success_seconds"] = first
    result.details["slowest_refusal_ms"] = 1000 * max(sample.seconds for sample in refused)
    assert result.during is not None
    clear = sum(_is_refusal(sample) for sample in refused)
    result.checks.holds(
        "refused with 503 and Retry-After", clear == len(refused), measured=f"{clear} of {len(refused)}", limit="all"
    )
    clear = sum(is_clear(sample) for sample in in_flight)
    result.checks.holds(
        "served or refused clearly when they died",
        clear == len(in_flight),
        measured=f"{clear} of {len(in_flight)}",
        limit="all",
    )
    requests = max(1.0, counters_after["begun"] - counters["begun"])
    result.attempts_during = (counters_after["attempts"] - counters["attempts"]) / requests
    result.checks.at_most(
        "attempts per request in the fault", result.attempts_during, timing.max_attempts, timing=False
    )
    result.checks.at_most("p99 of the refusals", result.during.p99_ms, MAX_REFUSAL_MS, " ms")
    result.checks.at_most("first success after READY", first, MAX_SECONDS_TO_FIRST_SUCCESS, " s")
    result.checks.holds("served again", recovered and right)
    return result


def _is_refusal(sample: Sample) -> bool:
    return sample.status == 503 and sample.code == "pair-unavailable" and sample.retry_after >= 0
