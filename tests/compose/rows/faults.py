"""Rows in which servers die, hang, restart or are cut off, and Redis is lost; keys stay on its volume."""

from __future__ import annotations

import asyncio

from tests.compose.commands import CommandFailedError
from tests.compose.deployment import LOOK_SECONDS, PROJECT, Container
from tests.compose.result import seconds_without
from tests.compose.rows.row import RowRun
from tests.support.waiting import wait_until

# How long a server stays paused or cut off: longer than its probes' patience, shorter than a request's.
FAULT_SECONDS = 15.0
LOST_SECONDS = 15.0
NOTICED_SECONDS = 60.0
FRENCH = frozenset({"en-fr", "fr-en", "en-es", "es-en", "de-fr"})


async def container_killed(run: RowRun) -> None:
    """``docker kill`` one of two servers, and start it again by ``up``."""
    victim = await _german(run)
    await run.fleet.docker("kill", victim.id)
    await _until_not_ok(run)
    await asyncio.sleep(run.pace.after / 2)
    await run.fleet.compose("up", "-d", "--wait")
    await run.fleet.until_whole()


async def paused(run: RowRun) -> None:
    """``docker pause`` one of two servers for a time."""
    victim = await _german(run)
    await run.fleet.docker("pause", victim.id)
    try:
        await asyncio.sleep(FAULT_SECONDS)
    finally:
        await run.fleet.docker("unpause", victim.id)
    await run.fleet.until_whole()
    run.note("slowest answer", max(sample.seconds for sample in run.traffic.samples))


async def cut_off(run: RowRun) -> None:
    """Cut one of two servers off the network for a time."""
    victim, network = await _german(run), f"{PROJECT}_engines"
    await run.fleet.docker("network", "disconnect", network, victim.id)
    try:
        await asyncio.sleep(FAULT_SECONDS)
    finally:
        await run.fleet.docker("network", "connect", "--alias", victim.service, network, victim.id)
    await run.fleet.until_whole()
    run.note("slowest answer", max(sample.seconds for sample in run.traffic.samples))


async def only_server_killed(run: RowRun) -> None:
    """SIGKILL the server of French, which has no other; Docker starts it again."""
    (victim,) = await run.fleet.containers("apiserver-fr")
    await run.fleet.kill_main_process(victim)
    await _until_not_ok(run)
    await run.fleet.until_whole()
    run.note("last failure after", seconds_without(run.traffic.samples, FRENCH, run.began))


async def proxies_restarted(run: RowRun) -> None:
    """Restart both proxies, the second as soon as the first is back."""
    for proxy in await run.fleet.containers("proxy"):
        await run.fleet.docker("restart", "--time", "60", proxy.id)
        await run.fleet.until_whole()


async def proxies_killed(run: RowRun) -> None:
    """SIGKILL the server in the one proxy, which Docker starts again, then ``docker kill`` the other and start it by ``up``."""
    first, second = await run.fleet.containers("proxy")
    await run.fleet.kill_main_process(first)
    await run.fleet.until_restarted(first)
    await run.fleet.until_whole()
    run.note("first back after", run.seconds())
    await run.fleet.docker("kill", second.id)
    await run.fleet.compose("up", "-d", "--wait")
    await run.fleet.until_whole()


async def redis_restarted(run: RowRun) -> None:
    """``docker compose restart redis``."""
    await run.fleet.compose("restart", "redis")
    await run.fleet.until_whole()


async def redis_lost(run: RowRun) -> None:
    """Kill Redis, and start it again after a time."""
    await run.fleet.compose("kill", "redis")
    await asyncio.sleep(LOST_SECONDS)
    run.note("pairs served without it", len(run.traffic.served_since(run.began)))
    await run.fleet.compose("up", "-d", "--wait")
    await run.fleet.until_whole()


async def _german(run: RowRun) -> Container:
    """Return the youngest of German's servers."""
    return (await run.fleet.containers("apiserver-de"))[-1]


async def _until_not_ok(run: RowRun) -> None:
    """Wait until ``/health`` shows the fault; raises where it never does."""

    async def is_shown() -> bool:
        return (await run.fleet.health()).get("status") != "ok"

    try:
        await wait_until(is_shown, NOTICED_SECONDS, pause=LOOK_SECONDS)
    except AssertionError:
        raise CommandFailedError(f"/health said ok for {NOTICED_SECONDS:g} s after the fault") from None
    run.note("in /health after", run.seconds())
