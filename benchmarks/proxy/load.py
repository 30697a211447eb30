"""The load, a process of its own: ``python -m benchmarks.proxy.load PLAN``, one line of JSON as its result.

A closed loop: each connection sends its next request when it has the answer to the last. The processes of the proxy are
looked at by it too, at the same moments as the answers are counted from and to.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import uvloop
from typing_extensions import override

from benchmarks.proxy.http_reader import AnswerReader, BrokenHttpError
from benchmarks.proxy.process_usage import usage_of
from benchmarks.proxy.requests import TRANSLATION, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

GOOD: Final = TRANSLATION.encode()
OK: Final = 200
# Where a proxy is slow, the time that counts is longer: until there are so many answers, at most so many times as long.
LEAST_ANSWERS: Final = 50
MOST_TIMES: Final = 4
LOOK_SECONDS: Final = 0.05
# What is in flight at the end may still come, so that no proxy sees its clients leave.
DRAIN_SECONDS: Final = 15.0
# After a connection that broke.
PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True)
class Plan:
    """Where to, what, how many connections; seconds that do not count, then those that do; the proxy's process (0: none)."""

    port: int
    wire: Wire
    connections: int
    warm_up: float
    seconds: float
    pid: int

    def as_json(self) -> str:
        """Return it for a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Plan:
        """Read what :meth:`as_json` made."""
        fields: dict[str, Any] = json.loads(text)
        fields["wire"] = Wire(*fields["wire"])
        return cls(**fields)


class Load:
    """Mutable state: what was answered so far."""

    def __init__(self, plan: Plan) -> None:
        """Take the plan."""
        self.plan = plan
        self.before, self.after = plan.wire.parts(plan.port)
        self.counting = False
        self.stopping = False
        self.latencies: list[float] = []
        self.errors: Counter[str] = Counter()
        self.open = 0
        self._number = 0

    def next_request(self) -> bytes:
        """Return a request as there was none before."""
        self._number += 1
        return b"%b%010d%b" % (self.before, self._number, self.after)

    def note(self, latency: float, error: str | None) -> None:
        """Count an answer, or what came instead."""
        if not self.counting:
            return
        if error is None:
            self.latencies.append(latency)
        else:
            self.errors[error] += 1


class Connection(asyncio.Protocol):
    """One connection, always with a request in flight."""

    def __init__(self, load: Load) -> None:
        """Take whose it is."""
        self._load = load
        self._reader = AnswerReader()
        self._transport: asyncio.Transport | None = None
        self._began = 0.0
        self.ended = asyncio.get_running_loop().create_future()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    @override
    def data_received(self, data: bytes) -> None:
        assert self._transport is not None  # noqa: S101 - made before data comes
        try:
            answers = self._reader.feed(data)
        except BrokenHttpError as error:
            self._load.note(0.0, str(error))
            self._transport.abort()
            return
        for answer in answers:
            error = None
            if answer.status != OK:
                error = f"status {answer.status}"
            elif GOOD not in answer.body:
                error = "another body"
            self._load.note(time.perf_counter() - self._began, error)
            self._send()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if not self._load.stopping:
            self._load.note(0.0, "connection lost")
        self.ended.set_result(None)

    def _send(self) -> None:
        assert self._transport is not None  # noqa: S101 - made before
        if self._load.stopping:
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._transport.write(self._load.next_request())


async def keep_connected(load: Load) -> None:
    """Have one connection, a new one where it broke."""
    loop = asyncio.get_running_loop()
    while not load.stopping:
        try:
            _, connection = await loop.create_connection(lambda: Connection(load), "127.0.0.1", load.plan.port)
            await connection.ended
        except OSError:
            load.note(0.0, "no connection")
        if not load.stopping:
            await asyncio.sleep(PAUSE_SECONDS)


def percentile(ordered: list[float], percent: float) -> float:
    """Return the value that so many percent are not above, in milliseconds; 0 for none."""
    return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


async def run(plan: Plan) -> dict[str, Any]:
    """Send the load; return what was found in the time that counts."""
    load = Load(plan)
    clients = [asyncio.create_task(keep_connected(load)) for _ in range(plan.connections)]
    await asyncio.sleep(plan.warm_up)
    before, began, own = usage_of(plan.pid), time.monotonic(), time.process_time()
    load.counting = True
    for _ in _looks(plan):
        await asyncio.sleep(LOOK_SECONDS)
        passed = time.monotonic() - began
        if passed >= plan.seconds and (len(load.latencies) >= LEAST_ANSWERS or passed >= MOST_TIMES * plan.seconds):
            break
    load.counting = False
    after, seconds, own = usage_of(plan.pid), time.monotonic() - began, time.process_time() - own
    load.stopping = True
    await asyncio.wait(clients, timeout=DRAIN_SECONDS)
    for client in clients:
        client.cancel()
    ordered = sorted(load.latencies)
    return {
        "answers": len(ordered),
        "errors": dict(load.errors),
        "seconds": seconds,
        "cpu": after.cpu - before.cpu,
        "rss": after.rss,
        "p50": percentile(ordered, 50),
        "p99": percentile(ordered, 99),
        "load_cpu": own,
    }


def _looks(plan: Plan) -> Iterator[int]:
    return iter(range(int(2 * MOST_TIMES * plan.seconds / LOOK_SECONDS)))


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(Plan.of(sys.argv[1])))))
