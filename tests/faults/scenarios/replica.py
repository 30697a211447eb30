"""Scenarios whose fault is in one of two replicas, or between it and the proxy."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from tests.faults.fleet import RATE, FaultFleet, ReplicaUnderTest
from tests.faults.result import ScenarioResult, Timing
from tests.faults.scenarios.run import Scenario, run_scenario, summarize
from tests.support.waiting import wait_until

# Two engines and everything else on two cores.
REAL_RATE = 10.0
SLOW_SECONDS = 1.5
NORMAL_SECONDS = 0.02

Fault = Callable[[FaultFleet, ReplicaUnderTest], Awaitable[object]]
# Adds a scenario's own target.
Target = Callable[[ScenarioResult], None]


def replica_scenario(name: str, inject: Fault, heal: Fault, *targets: Target) -> Scenario:
    """Make a scenario of a fault in the second replica."""

    async def scenario(fleet: FaultFleet, timing: Timing) -> ScenarioResult:
        victim = fleet.replicas[1]
        run = await run_scenario(
            fleet,
            timing,
            inject=lambda: inject(fleet, victim),
            heal=lambda: heal(fleet, victim),
            victim=victim,
            rate=REAL_RATE if fleet.setup.real else RATE,
        )
        result = summarize(name, fleet, timing, run, victim)
        for target in targets:
            target(result)
        return result

    return scenario


def p99_within(seconds: float) -> Target:
    def target(result: ScenarioResult) -> None:
        assert result.during is not None
        result.checks.at_most("p99 in the fault", result.during.p99_ms, 1000 * seconds, " ms")

    return target


def p99_times_normal(most: float) -> Target:
    def target(result: ScenarioResult) -> None:
        assert result.during is not None
        assert result.before is not None
        ratio = result.during.p99_ms / result.before.p99_ms
        result.checks.at_most("p99 in the fault / p99 before", ratio, most)

    return target


def share_at_most(percent: float) -> Target:
    def target(result: ScenarioResult) -> None:
        result.checks.at_most("its share in the fault", 100 * (result.share or 0.0), percent, " %")

    return target


async def nothing(_fleet: FaultFleet, _victim: ReplicaUnderTest) -> None:
    pass


async def kill(_: FaultFleet, victim: ReplicaUnderTest) -> None:
    await asyncio.to_thread(victim.server.kill)


async def start(fleet: FaultFleet, victim: ReplicaUnderTest) -> None:
    victim.server.start()
    await until_ready(fleet, victim)


async def until_ready(fleet: FaultFleet, victim: ReplicaUnderTest) -> None:
    await wait_until(lambda: fleet.is_ready(victim), fleet.setup.ready_within, "the replica itself is ready")


async def stop(_: FaultFleet, victim: ReplicaUnderTest) -> None:
    victim.server.signal(signal.SIGSTOP)


async def go_on(_: FaultFleet, victim: ReplicaUnderTest) -> None:
    victim.server.signal(signal.SIGCONT)


async def hang(fleet: FaultFleet, victim: ReplicaUnderTest) -> None:
    """Stop the engine's steps while HTTP answers: by the script, or by SIGSTOP of the real one's process."""
    if fleet.setup.real:
        for engine in victim.server.children("EngineCore"):
            engine.suspend()
    else:
        await victim.script(hung=True)


async def hang_no_more(fleet: FaultFleet, victim: ReplicaUnderTest) -> None:
    if fleet.setup.real:
        # The server may have ended it and started another, which takes its time.
        for engine in victim.server.children("EngineCore"):
            engine.resume()
    else:
        await victim.script(hung=False)
    await until_ready(fleet, victim)


async def slow(_: FaultFleet, victim: ReplicaUnderTest) -> None:
    await victim.script(delay=SLOW_SECONDS)


async def quick(_: FaultFleet, victim: ReplicaUnderTest) -> None:
    await victim.script(delay=NORMAL_SECONDS)


def relayed(mode: str) -> Fault:
    async def inject(_: FaultFleet, victim: ReplicaUnderTest) -> None:
        await victim.mode(mode)

    return inject
