"""Rows whose fault is in Redis or in another proxy: the load must not notice."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

from tests.faults import course
from tests.faults.result import Result, Times
from tests.faults.scene import RATE, ProxyUnderTest, Scene
from tests.waiting import wait_until

MOST_OF_NORMAL_P50 = 1.1
MOST_SECONDS_TO_NEW_HOLDER = 3.0
# The short form's bound, on a machine as busy as it may be.
HOLDER_WITHIN_SECONDS = 10.0


def redis(
    name: str, inject: Callable[[Scene], Awaitable[None]], heal: Callable[[Scene], Awaitable[None]]
) -> course.Row:
    """Make a row of a fault in Redis."""

    async def run(scene: Scene, times: Times) -> Result:
        async def healed() -> None:
            await heal(scene)
            await scene.until_whole()

        found = await course.run(scene, times, inject=lambda: inject(scene), heal=healed)
        result = course.judged(name, scene, times, found, None)
        assert result.before is not None
        assert result.during is not None
        ratio = result.during.p50_ms / result.before.p50_ms
        result.promise("p50 in the fault / p50 before", found=ratio, at_most=MOST_OF_NORMAL_P50)
        return result

    return run


async def freeze(scene: Scene) -> None:
    scene.redis.signal(signal.SIGSTOP)


async def thaw(scene: Scene) -> None:
    scene.redis.signal(signal.SIGCONT)


async def kill(scene: Scene) -> None:
    await asyncio.to_thread(scene.redis.kill)


async def start_empty(scene: Scene) -> None:
    scene.redis.start()


async def other_proxy_killed(scene: Scene, times: Times) -> Result:
    """Kill the proxy that does not hold the lease."""
    holder, other = await _proxies(scene)
    found = await _kill(scene, times, victim=other, survivor=holder)
    return course.judged("proxy-killed", scene, times, found, None)


async def lease_holder_killed(scene: Scene, times: Times) -> Result:
    """Kill the proxy that holds the lease: the other takes it over."""
    holder, other = await _proxies(scene)
    seconds: list[float] = []

    async def holds() -> bool:
        return bool((await scene.health(other)).get("prober"))

    async def handed_over() -> None:
        began = time.monotonic()
        await wait_until(holds, HOLDER_WITHIN_SECONDS, "the other holds the lease")
        seconds.append(time.monotonic() - began)

    found = await _kill(scene, times, victim=holder, survivor=other, then=handed_over)
    result = course.judged("lease-holder-killed", scene, times, found, None)
    result.more["new_holder_seconds"] = seconds[0]
    result.promise("new holder", found=seconds[0], at_most=MOST_SECONDS_TO_NEW_HOLDER, unit=" s")
    return result


async def _proxies(scene: Scene) -> tuple[ProxyUnderTest, ProxyUnderTest]:
    """Return the holder of the lease, and the other."""

    async def held() -> list[ProxyUnderTest]:
        return [proxy for proxy in scene.proxies if (await scene.health(proxy))["prober"]]

    holder = (await wait_until(held, 10, "a proxy holds the lease"))[0]
    return holder, next(proxy for proxy in scene.proxies if proxy is not holder)


async def _kill(
    scene: Scene,
    times: Times,
    *,
    victim: ProxyUnderTest,
    survivor: ProxyUnderTest,
    then: course.Act | None = None,
) -> course.Course:
    async def inject() -> None:
        await asyncio.to_thread(victim.server.kill)
        if then is not None:
            await then()

    async def heal() -> None:
        victim.server.start()
        await scene.until_whole()

    # Each proxy has a load of its own; the victim's fails with it.
    async with scene.loaded(RATE / 2, victim):
        return await course.run(scene, times, inject=inject, heal=heal, proxy=survivor)
