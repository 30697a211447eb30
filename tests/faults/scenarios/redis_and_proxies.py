"""Scenarios whose fault is in Redis or in another proxy: the load must not notice."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

from tests.faults.fleet import RATE, FaultFleet, ProxyUnderTest
from tests.faults.result import ScenarioResult, Timing
from tests.faults.scenarios.run import Action, Scenario, ScenarioRun, run_scenario, summarize
from tests.support.waiting import wait_until

MAX_OF_NORMAL_P50 = 1.1
MAX_SECONDS_TO_NEW_HOLDER = 3.0
# The short form's bound, on a machine as busy as it may be.
HOLDER_WITHIN_SECONDS = 10.0


def redis_scenario(
    name: str, inject: Callable[[FaultFleet], Awaitable[None]], heal: Callable[[FaultFleet], Awaitable[None]]
) -> Scenario:
    """Make a scenario of a fault in Redis."""

    async def scenario(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
        async def healed() -> None:
            await heal(fleet)
            await fleet.until_whole()

        run = await run_scenario(fleet, timing, inject=lambda: inject(fleet), heal=healed)
        result = summarize(name, fleet, timing, run, None)
        assert result.before is not None
        assert result.during is not None
        ratio = result.during.p50_ms / result.before.p50_ms
        result.checks.at_most("p50 in the fault / p50 before", ratio, MAX_OF_NORMAL_P50)
        return result

    return scenario


async def freeze(fleet: FaultFleet) -> None:
    fleet.redis.signal(signal.SIGSTOP)


async def thaw(fleet: FaultFleet) -> None:
    fleet.redis.signal(signal.SIGCONT)


async def kill(fleet: FaultFleet) -> None:
    await asyncio.to_thread(fleet.redis.kill)


async def start_empty(fleet: FaultFleet) -> None:
    fleet.redis.start()


async def other_proxy_killed(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
    """Kill the proxy that does not hold the lease."""
    holder, other = await _proxies(fleet)
    run = await _kill(fleet, timing, victim=other, survivor=holder)
    return summarize("proxy-killed", fleet, timing, run, None)


async def lease_holder_killed(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
    """Kill the proxy that holds the lease: the other takes it over."""
    holder, other = await _proxies(fleet)
    seconds: list[float] = []

    async def holds() -> bool:
        return bool((await fleet.health(other)).get("prober"))

    async def handed_over() -> None:
        began = time.monotonic()
        await wait_until(holds, HOLDER_WITHIN_SECONDS, "the other holds the lease")
        seconds.append(time.monotonic() - began)

    run = await _kill(fleet, timing, victim=holder, survivor=other, then=handed_over)
    result = summarize("lease-holder-killed", fleet, timing, run, None)
    result.details["new_holder_seconds"] = seconds[0]
    result.checks.at_most("new holder", seconds[0], MAX_SECONDS_TO_NEW_HOLDER, " s")
    return result


async def _proxies(fleet: FaultFleet) -> tuple[ProxyUnderTest, ProxyUnderTest]:
    """Return the holder of the lease, and the other."""

    async def held() -> list[ProxyUnderTest]:
        return [proxy for proxy in fleet.proxies if (await fleet.health(proxy))["prober"]]

    holder = (await wait_until(held, 10, "a proxy holds the lease"))[0]
    return holder, next(proxy for proxy in fleet.proxies if proxy is not holder)


async def _kill(
    fleet: FaultFleet,
    timing: Timing,
    *,
    victim: ProxyUnderTest,
    survivor: ProxyUnderTest,
    then: Action | None = None,
) -> ScenarioRun:
    async def inject() -> None:
        await asyncio.to_thread(victim.server.kill)
        if then is not None:
            await then()

    async def heal() -> None:
        victim.server.start()
        await fleet.until_whole()

    # Each proxy has a load of its own; the victim's fails with it.
    async with fleet.loaded(RATE / 2, victim):
        return await run_scenario(fleet, timing, inject=inject, heal=heal, proxy=survivor)
