"""Rows whose fault is in one of two replicas, or between it and the proxy."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from tests.faults import course
from tests.faults.result import Result, Times
from tests.faults.scene import RATE, ReplicaUnderTest, Scene
from tests.waiting import wait_until

# Two engines and everything else on two cores.
REAL_RATE = 10.0
SLOW_SECONDS = 1.5
NORMAL_SECONDS = 0.02

Fault = Callable[[Scene, ReplicaUnderTest], Awaitable[object]]
# Adds a row's own promises.
Promise = Callable[[Result], None]


def row(name: str, inject: Fault, heal: Fault, *promises: Promise) -> Callable[[Scene, Times], Awaitable[Result]]:
    """Make a row of a fault in the second replica."""

    async def run(scene: Scene, times: Times) -> Result:
        victim = scene.replicas[1]
        found = await course.run(
            scene,
            times,
            inject=lambda: inject(scene, victim),
            heal=lambda: heal(scene, victim),
            victim=victim,
            rate=REAL_RATE if scene.setting.real else RATE,
        )
        result = course.judged(name, scene, times, found, victim)
        for promise in promises:
            promise(result)
        return result

    return run


def p99_within(seconds: float) -> Promise:
    def promise(result: Result) -> None:
        assert result.during is not None
        result.promise("p99 in the fault", found=result.during.p99_ms, at_most=1000 * seconds, unit=" ms")

    return promise


def p99_times_normal(most: float) -> Promise:
    def promise(result: Result) -> None:
        assert result.during is not None
        assert result.before is not None
        found = result.during.p99_ms / result.before.p99_ms
        result.promise("p99 in the fault / p99 before", found=found, at_most=most)

    return promise


def share_at_most(percent: float) -> Promise:
    def promise(result: Result) -> None:
        result.promise("its share in the fault", found=100 * (result.share or 0.0), at_most=percent, unit=" %")

    return promise


async def nothing(_scene: Scene, _victim: ReplicaUnderTest) -> None:
    pass


async def kill(_: Scene, victim: ReplicaUnderTest) -> None:
    await asyncio.to_thread(victim.server.kill)


async def start(scene: Scene, victim: ReplicaUnderTest) -> None:
    victim.server.start()
    await until_ready(scene, victim)


async def until_ready(scene: Scene, victim: ReplicaUnderTest) -> None:
    await wait_until(lambda: scene.is_ready(victim), scene.setting.ready_within, "the replica itself is ready")


async def stop(_: Scene, victim: ReplicaUnderTest) -> None:
    victim.server.signal(signal.SIGSTOP)


async def go_on(_: Scene, victim: ReplicaUnderTest) -> None:
    victim.server.signal(signal.SIGCONT)


async def hang(scene: Scene, victim: ReplicaUnderTest) -> None:
    """Stop the engine's steps while HTTP answers: by the script, or by SIGSTOP of the real one's process."""
    if scene.setting.real:
        for engine in victim.server.children("EngineCore"):
            engine.suspend()
    else:
        await victim.script(hung=True)


async def hang_no_more(scene: Scene, victim: ReplicaUnderTest) -> None:
    if scene.setting.real:
        # The server may have ended it and started another, which takes its time.
        for engine in victim.server.children("EngineCore"):
            engine.resume()
    else:
        await victim.script(hung=False)
    await until_ready(scene, victim)


async def slow(_: Scene, victim: ReplicaUnderTest) -> None:
    await victim.script(delay=SLOW_SECONDS)


async def quick(_: Scene, victim: ReplicaUnderTest) -> None:
    await victim.script(delay=NORMAL_SECONDS)


def relayed(mode: str) -> Fault:
    async def inject(_: Scene, victim: ReplicaUnderTest) -> None:
        await victim.mode(mode)

    return inject
