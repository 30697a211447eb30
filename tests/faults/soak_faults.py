"""The soak's faults: each goes on for some seconds, is healed, and ends when what it hit is well again."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.faults.fleet import FaultFleet
from tests.faults.result import SHORT
from tests.faults.scenarios import replica
from tests.faults.scenarios.clients import bad_requests, leave, slow_engines
from tests.support.waiting import wait_until

SHORTEST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 12.0
EXIT_SECONDS: Final = 30.0


@dataclass
class SoakFleet:
    """The fleet, and when (monotonic seconds) the second proxy was dead: its clients could not be answered."""

    fleet: FaultFleet
    rng: Random
    dead: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def excused(self, ended: float) -> bool:
        """Say whether a request of the second proxy that ended then found it dead."""
        return any(since <= ended <= until for since, until in self.dead)


Fault = Callable[[SoakFleet, float], Awaitable[None]]


def _at_replica(inject: replica.Fault, heal: replica.Fault, *, may_end_first: bool = True) -> Fault:
    """Make a fault of a random replica.

    The first one is spared where its process would end, so that it grows old.
    """

    async def run(soak_fleet: SoakFleet, seconds: float) -> None:
        victim = soak_fleet.rng.choice(soak_fleet.fleet.replicas if may_end_first else soak_fleet.fleet.replicas[1:])
        await inject(soak_fleet.fleet, victim)
        await asyncio.sleep(seconds)
        await heal(soak_fleet.fleet, victim)
        await replica.until_ready(soak_fleet.fleet, victim)

    return run


async def _terminated(soak_fleet: SoakFleet, seconds: float) -> None:
    victim = soak_fleet.rng.choice(soak_fleet.fleet.replicas[1:])
    victim.server.signal(signal.SIGTERM)
    if victim.server.process is not None:
        await asyncio.to_thread(victim.server.process.wait, EXIT_SECONDS)
    await asyncio.sleep(seconds)
    await replica.start(soak_fleet.fleet, victim)


async def _redis_frozen(soak_fleet: SoakFleet, seconds: float) -> None:
    soak_fleet.fleet.redis.signal(signal.SIGSTOP)
    await asyncio.sleep(seconds)
    soak_fleet.fleet.redis.signal(signal.SIGCONT)


async def _redis_killed(soak_fleet: SoakFleet, seconds: float) -> None:
    await asyncio.to_thread(soak_fleet.fleet.redis.kill)
    await asyncio.sleep(seconds)
    soak_fleet.fleet.redis.start()


async def _proxy_killed(soak_fleet: SoakFleet, seconds: float) -> None:
    second = soak_fleet.fleet.proxies[1]
    since = time.monotonic()
    await asyncio.to_thread(second.server.kill)
    await asyncio.sleep(seconds)
    second.server.start()

    async def ready() -> bool:
        return (await soak_fleet.fleet.get(f"{second.url}/readyz"))[0] == 200

    await wait_until(ready, EXIT_SECONDS, "the second proxy is ready")
    soak_fleet.dead.append((since, time.monotonic()))


async def _bad_requests(soak_fleet: SoakFleet, _: float) -> None:
    if missed := (await bad_requests(soak_fleet.fleet, SHORT)).checks.missed(timings=True):
        raise AssertionError(f"bad requests: {missed}")


async def _clients_leave(soak_fleet: SoakFleet, _: float) -> None:
    async with slow_engines(soak_fleet.fleet):
        await leave(soak_fleet.fleet, f"leave{time.monotonic_ns()}")


def _relayed(mode: str) -> Fault:
    return _at_replica(replica.relayed(mode), replica.relayed("pass"))


FAULTS: Final[dict[str, Fault]] = {
    "sigkill": _at_replica(replica.kill, replica.start, may_end_first=False),
    "sigterm": _terminated,
    "sigstop": _at_replica(replica.stop, replica.go_on),
    "hung-engine": _at_replica(replica.hang, replica.hang_no_more),
    "slow": _at_replica(replica.slow, replica.quick),
    "instant-503": _relayed("503"),
    "overloaded": _relayed("overloaded"),
    "pair-unavailable": _relayed("pair-unavailable"),
    "instant-500": _relayed("500"),
    "reset": _relayed("reset"),
    "dropped": _relayed("drop"),
    "redis-frozen": _redis_frozen,
    "redis-killed": _redis_killed,
    "proxy-killed": _proxy_killed,
    "bad-requests": _bad_requests,
    "clients-leave": _clients_leave,
}
