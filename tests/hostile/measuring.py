"""Measuring one hostile input in growing sizes: processor time for each, its exponent, and the longest stall."""

from __future__ import annotations

import http.client
import itertools
import json
import math
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.hostile.servers import WatchedServer

# The rule: from here on twice the size costs at most so many times as much.
COUNTED_SECONDS: Final = 0.020
MAX_RATIO: Final = 2.5
# An answer that takes longer is no answer.
ANSWER_SECONDS: Final = 120.0
# Once a probe stood still for minutes beside containers; each row waited for it until the test had no time left.
SETTLE_SECONDS: Final = 10.0
# Of a text that ends a little earlier, another number of tries may fail: such costs count as those of the size.
_SHORTER: Final = (1, 2, 3, 5, 8, 13)
# So often sizes that look too dear are doubled once more, where the row has been shortened.
_FURTHER: Final = 2
# So often figures that break the rule are measured again: a busy machine makes them larger, never smaller.
REPEATS: Final = 5
_LOOK_SECONDS: Final = 0.002
# Requests that arrive together are sent so long while their server is stopped.
_TOGETHER_SECONDS: Final = 1.0
# Comments and data of a stream that never ends.
_STREAM_BYTES: Final = 64
# What faulthandler writes of the thread that ran.
_CURRENT: Final = re.compile(r"^Current thread .*\n((?:  File .*\n)+)", re.MULTILINE)
_OWN_FRAME: Final = re.compile(r'"[^"]*/((?:apiserver|proxy|shared)/[^"]*)", line (\d+) in (\S+)')


class Sent(NamedTuple):
    """A request."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = {}


@dataclass(frozen=True)
class Row:
    """One input of one endpoint; ``make`` takes a size up to ``limit``, in bytes or characters, and a seed.

    ``copies``: so many requests arrive in one turn of the loop.
    """

    server: str
    endpoint: str
    name: str
    limit: int
    make: Callable[[int, int], Sent]
    statuses: frozenset[int] = frozenset({200})
    endless: bool = False
    # The endpoint's own limit, where the row has been shortened.
    most: int = 0
    copies: int = 1

    @property
    def title(self) -> str:
        """Endpoint and input."""
        return f"{self.server} {self.endpoint}: {self.name}"


class Cost(NamedTuple):
    """Of one request: processor time and longest stall in seconds, and the answer's status (0: none)."""

    seconds: float
    stall: float
    status: int

    def or_less(self, other: Cost) -> Cost:
        """Return the smaller of the figures of two measurements."""
        return Cost(min(self.seconds, other.seconds), min(self.stall, other.stall), other.status)


@dataclass
class Result:
    """Costs by size; ``stacks`` of the longest stall, if it was traced."""

    row: Row
    costs: dict[int, Cost] = field(default_factory=dict[int, Cost])
    stacks: str = ""

    @property
    def where(self) -> str:
        """The innermost frames of our own code that ran during stalls, with how often."""
        found: Counter[str] = Counter()
        for dump in _CURRENT.findall(self.stacks):
            frames = _OWN_FRAME.findall(dump)
            found[" < ".join(f"{file}:{line} {function}" for file, line, function in frames[:2])] += 1
        return "; ".join(f"{count}× {frame}" for frame, count in found.most_common(2))

    @property
    def size(self) -> int:
        """The largest size."""
        return max(self.costs)

    @property
    def stall(self) -> float:
        """The longest stall of all sizes."""
        return max(cost.stall for cost in self.costs.values())

    @property
    def ratio(self) -> float:
        """How many times as much twice the size costs at most; NaN where nothing counts."""
        return 2**self.exponent

    @property
    def exponent(self) -> float:
        """The largest exponent of the cost's growth; NaN where nothing counts.

        A single step up, such as one try more, is no growth: each size is compared with the later one that it grows least to.
        """
        counted = [size for size in sorted(self.costs) if self.costs[size].seconds >= COUNTED_SECONDS]
        return max(
            (
                min(self._exponent(one, later) for later in counted[number:])
                for number, one in enumerate(counted[:-1], 1)
            ),
            default=math.nan,
        )

    def _exponent(self, one: int, later: int) -> float:
        return math.log(self.costs[later].seconds / self.costs[one].seconds) / math.log(later / one)

    @property
    def grows(self) -> bool:
        """Whether twice the size costs too much."""
        return self.exponent > math.log2(MAX_RATIO)

    @property
    def growth(self) -> str:
        """How the cost grows."""
        return f"costs {self.ratio:.1f} times as much for twice the size"

    def faults(self, max_stall: float) -> list[str]:
        """Return what breaks the rule."""
        faults: list[str] = []
        if self.stall > max_stall:
            faults.append(f"stands still for {1000 * self.stall:.0f} ms")
        if self.grows:
            faults.append(self.growth)
        if wrong := {cost.status for cost in self.costs.values()} - self.row.statuses:
            faults.append(f"is answered with {', '.join(map(str, sorted(wrong)))}")
        return faults


def send(server: WatchedServer, sent: Sent, *, endless: bool = False) -> tuple[int, bytes]:
    """Send a request on a connection of its own; return status and body, status 0 where there is no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=ANSWER_SECONDS)
    try:
        connection.request(sent.method, sent.path, sent.body or None, dict(sent.headers))
        response = connection.getresponse()
        return response.status, response.read(_STREAM_BYTES) if endless else response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def send_together(server: WatchedServer, requests: Sequence[Sent]) -> int:
    """Send requests while the server is stopped, so that it finds them all at once; return the highest status, or 0."""
    with ExitStack() as stack, ThreadPoolExecutor(len(requests)) as threads:
        connections: list[http.client.HTTPConnection] = []
        for _ in requests:
            connections.append(http.client.HTTPConnection("127.0.0.1", server.port, timeout=ANSWER_SECONDS))
            stack.callback(connections[-1].close)
            connections[-1].connect()
        _settle(server)
        os.kill(server.server.pid, signal.SIGSTOP)
        try:
            writes = [threads.submit(_write, *each) for each in zip(connections, requests, strict=True)]
            wait(writes, _TOGETHER_SECONDS)  # what no buffer holds is sent later
        finally:
            os.kill(server.server.pid, signal.SIGCONT)
        wait(writes)
        statuses = list(threads.map(_status, connections))
        return 0 if 0 in statuses else max(statuses)


def _write(connection: http.client.HTTPConnection, sent: Sent) -> None:
    with suppress(OSError):  # its answer is missing, too
        connection.request(sent.method, sent.path, sent.body or None, dict(sent.headers))


def _status(connection: http.client.HTTPConnection) -> int:
    try:
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return 0
    return response.status


def measure(server: WatchedServer, row: Row, size: int, seed: int) -> Cost:
    """Measure one request, or a row's copies of it; it ends when the loop ticks again."""
    requests = [row.make(size, row.copies * seed + number) for number in range(row.copies)]
    _settle(server)
    server.probe.reset()
    before = server.cpu_seconds()
    if row.copies > 1:
        status = send_together(server, requests)
    else:
        status, _ = send(server, requests[0], endless=row.endless)
    _settle(server)
    return Cost(server.cpu_seconds() - before, server.probe.stall, status)


def _settle(server: WatchedServer) -> None:
    """Wait for two ticks: then the loop has done what was due."""
    until, ticks = time.monotonic() + SETTLE_SECONDS, server.probe.ticks
    while server.probe.ticks < ticks + 2 and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)


def grow(server: WatchedServer, row: Row, max_stall: float, doublings: int, seed: int = 1) -> Result:
    """Measure a row in doubling sizes up to its limit; stop where the loop stands still.

    A row that costs too much for its size grows beyond a shortened limit: then a step up tells from growth.
    """
    result, seeds = Result(row), itertools.count(1000 * seed)
    sizes = [max(1, row.limit >> doubling) for doubling in range(doublings, -1, -1)]
    further = [size for number in range(1, _FURTHER + 1) if (size := row.limit << number) <= row.most]
    if doublings:
        measure(server, row, max(1, sizes[0] // 8), next(seeds))  # what is loaded or compiled once
    for size in (*sizes, *further):
        if size in further and not result.grows:
            break
        server.stacks.write_bytes(b"")
        result.costs[size] = measure(server, row, size, next(seeds))
        _repeat(server, result, max_stall, seeds)
        if set(result.faults(max_stall)) - {result.growth}:
            result.stacks = server.stacks.read_text(errors="replace")
            break
    return result


def _repeat(server: WatchedServer, result: Result, max_stall: float, seeds: Iterator[int]) -> None:
    """Measure the last two sizes again while they break the rule; then the first of them a little shorter."""
    row, latest = result.row, sorted(result.costs)[-2:]
    for _ in range(REPEATS):
        if not result.faults(max_stall):
            return
        for size in latest:  # both, because the machine may have become busy between them
            result.costs[size] = result.costs[size].or_less(measure(server, row, size, next(seeds)))
    for less in _SHORTER:
        if not result.grows:
            return
        cost = result.costs[latest[0]]
        shorter = measure(server, row, max(1, latest[0] - less), next(seeds))
        result.costs[latest[0]] = cost._replace(seconds=max(cost.seconds, shorter.seconds))


def as_json(body: object) -> bytes:
    """Return a body of JSON; lone surrogates are escapes."""
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body).encode()
