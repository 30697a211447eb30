"""What the soak watches from outside: memory, descriptors, threads and tasks of every process, and the keys in Redis."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

import psutil
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.faults.control import send_command
from tests.faults.fleet import FaultFleet

EVERY_SECONDS: Final = 5.0
MEGABYTE: Final = 1 << 20
# A process must have been seen this often after its warm-up to be judged.
MIN_SAMPLES: Final = 12
# The first and last so many samples are compared, by their medians: one busy moment is no growth.
COMPARED: Final = 5
MAX_GROWTH: Final = 0.05
# Idle connections to be kept, and one in the making.
SPARE: Final = 6


class ProcessSample(NamedTuple):
    """One look at a process; ``tasks`` of its event loop where it reports them, else -1."""

    at: float
    rss: int
    descriptors: int
    threads: int
    tasks: int


@dataclass
class ProcessMonitor:
    """Looks at every process of a scene; a process that is started again has a series of its own."""

    fleet: FaultFleet
    series: dict[str, list[ProcessSample]] = field(default_factory=lambda: defaultdict(list))
    eternal_keys: set[str] = field(default_factory=set[str])

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.look()
            await self.look_at_keys()
            await asyncio.sleep(EVERY_SECONDS)

    async def look(self) -> None:
        """Look at every process once."""
        fleet = self.fleet
        control_ports = {replica.server.log.stem: replica.control for replica in fleet.replicas}
        control_ports |= {proxy.server.log.stem: proxy.control for proxy in fleet.proxies}
        for server in fleet.servers:
            if server.process is None or server.process.poll() is not None:
                continue
            name = server.log.stem
            try:
                process = psutil.Process(server.pid)
                if process.status() == psutil.STATUS_STOPPED:
                    continue
                tasks = await self._tasks(control_ports[name]) if name in control_ports else -1
                sample = ProcessSample(
                    time.monotonic(), process.memory_info().rss, process.num_fds(), process.num_threads(), tasks
                )
            except psutil.Error:
                continue
            self.series[f"{name} {server.pid}"].append(sample)

    @staticmethod
    async def _tasks(port: int) -> int:
        try:
            return int((await send_command(port))["tasks"])
        except (OSError, TimeoutError, ValueError):
            return -1

    async def look_at_keys(self) -> None:
        """Note every key that would live for ever."""
        # Any: redis-py's types are unions over both protocols and both colours of function.
        client: Any = cast("Any", Redis)(port=self.fleet.redis_port, socket_timeout=1, decode_responses=True)
        try:
            for key in cast("list[str]", await client.keys("*")):
                if await client.pttl(key) == -1:
                    self.eternal_keys.add(key)
        except (RedisError, OSError, TimeoutError):
            return
        finally:
            await client.aclose()

    def growth(self, warm_up: float) -> dict[str, float]:
        """Return by process how much its memory grew after it had run for ``warm_up`` seconds, 0.05 for 5 %."""
        grown: dict[str, float] = {}
        for name, samples in self.series.items():
            warm = [sample.rss for sample in samples if sample.at - samples[0].at >= warm_up]
            if len(warm) >= MIN_SAMPLES:
                grown[name] = statistics.median(warm[-COMPARED:]) / statistics.median(warm[:COMPARED]) - 1
        return grown

    def leaks(self, idle: dict[str, ProcessSample]) -> list[str]:
        """Return what a process has more of than when it was idle at first, beyond a few spare ones."""
        leaks: list[str] = []
        for name, first in idle.items():
            last = self.series[name][-1]
            leaks += [
                f"{name}: {what} {getattr(first, what)} → {getattr(last, what)}"
                for what in ("descriptors", "threads", "tasks")
                if getattr(last, what) > getattr(first, what) + SPARE
            ]
        return leaks
