"""Closed loop on a proxy, a process of its own: ``python -m benchmarks.proxy.load PLAN`` prints one line of JSON.

The process tree of the proxy is looked at by it too, at the same moments as the responses are counted from and to.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Final

import uvloop

from benchmarks.harness.load import closed_loop
from benchmarks.harness.report import percentile_ms
from benchmarks.proxy.http_client import BrokenHttpError, HttpConnection
from benchmarks.proxy.process_usage import usage_of
from benchmarks.proxy.requests import TRANSLATION, RequestTemplate

GOOD: Final = TRANSLATION.encode()
OK: Final = 200
# Where a proxy is slow, the time that counts is longer: until there are so many responses, at most so many times as long.
MIN_RESPONSES: Final = 50
MAX_EXTENSION: Final = 4
LOOK_SECONDS: Final = 0.05
# What is in flight at the end may still come, so that no proxy sees its clients leave.
DRAIN_SECONDS: Final = 15.0
# After a connection that broke.
PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True)
class ProxyLoadPlan:
    """One load; ``warm_up`` seconds do not count, ``pid`` is the proxy's process (0: none)."""

    port: int
    request: RequestTemplate
    connections: int
    warm_up: float
    seconds: float
    pid: int

    def to_json(self) -> str:
        """Return the plan for a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ProxyLoadPlan:
        """Read what :meth:`to_json` made."""
        fields: dict[str, Any] = json.loads(text)
        fields["request"] = RequestTemplate(*fields["request"])
        return cls(**fields)


class ProxyClients:
    """Connections to one proxy, and what they were answered in the time that counts."""

    def __init__(self, plan: ProxyLoadPlan) -> None:
        self.counting = False
        self.latencies: list[float] = []
        self.errors: Counter[str] = Counter()
        self._port = plan.port
        self._before, self._after = plan.request.parts(plan.port)
        self._idle: list[HttpConnection] = []
        self._number = 0

    async def send(self, due: float) -> None:
        """Send a new request on an idle connection, or a new one."""
        try:
            connection = self._idle.pop() if self._idle else await HttpConnection.open(self._port)
        except OSError:
            await self._failed("no connection")
            return
        self._number += 1
        try:
            response = await connection.request(b"%b%010d%b" % (self._before, self._number, self._after))
        except (ConnectionError, BrokenHttpError) as error:
            await self._failed(str(error))
            return
        self._idle.append(connection)
        error = ""
        if response.status != OK:
            error = f"status {response.status}"
        elif GOOD not in response.body:
            error = "another body"
        self._count(time.monotonic() - due, error)

    def close(self) -> None:
        """Close every connection."""
        for connection in self._idle:
            connection.close()

    async def _failed(self, error: str) -> None:
        self._count(0.0, error)
        await asyncio.sleep(PAUSE_SECONDS)

    def _count(self, latency: float, error: str) -> None:
        if not self.counting:
            return
        if error:
            self.errors[error] += 1
        else:
            self.latencies.append(latency)


async def run(plan: ProxyLoadPlan) -> dict[str, Any]:
    """Send the load; return what was measured in the time that counts."""
    clients, stop = ProxyClients(plan), asyncio.Event()
    loop = asyncio.create_task(closed_loop(plan.connections, clients.send, stop))
    await asyncio.sleep(plan.warm_up)
    before, began, cpu = usage_of(plan.pid), time.monotonic(), time.process_time()
    clients.counting = True
    passed = 0.0
    while passed < plan.seconds or (len(clients.latencies) < MIN_RESPONSES and passed < MAX_EXTENSION * plan.seconds):
        await asyncio.sleep(LOOK_SECONDS)
        passed = time.monotonic() - began
    clients.counting = False
    after, seconds, cpu = usage_of(plan.pid), time.monotonic() - began, time.process_time() - cpu
    stop.set()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(loop, DRAIN_SECONDS)
    clients.close()
    return {
        "answers": len(clients.latencies),
        "errors": dict(clients.errors),
        "seconds": seconds,
        "cpu": after.cpu - before.cpu,
        "rss": after.rss,
        "p50": percentile_ms(clients.latencies, 50),
        "p99": percentile_ms(clients.latencies, 99),
        "load_cpu": cpu,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(ProxyLoadPlan.from_json(sys.argv[1])))))
