"""Burdensome clients in a process of their own: ``python -m benchmarks.connections.clients GROUP`` (as JSON).

Opens ``count`` connections from ``addresses`` neighbouring addresses, holds them for ``hold`` seconds and closes them. Prints
what became of them as one line of JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import socket
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final, cast

import uvloop
from typing_extensions import override

# At once: fewer than a listening socket's queue.
MAX_CONNECTING: Final = 200
CONNECT_SECONDS: Final = 10.0
PACE_SECONDS: Final = 1.0
# Until one that was refused or cut comes again: these clients are slow, and no flood.
AGAIN_SECONDS: Final = 10.0
# Small, so that what is not read is left with the server.
RECEIVE_BUFFER_BYTES: Final = 4096
# What a connection is given at once: what it does not take is kept here for each of them.
PIECE_BYTES: Final = 1 << 16
BODY_BYTES: Final = 20_000
# As long as one may be (PROXY_MAX_BODY_BYTES).
LARGE_BODY_BYTES: Final = 2 << 20
STATUS_LINE: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ")
POST: Final = b"POST /translate HTTP/1.1\r\nHost: proxy\r\nContent-Type: application/json\r\n"
# A request that no server may see: it hides in what another one sends.
HIDDEN: Final = b"GET /livez HTTP/1.1\r\nHost: proxy\r\n\r\n"
SMUGGLING: Final = (
    POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + HIDDEN,
    POST + b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n%b" % (len(HIDDEN), HIDDEN),
    POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    POST + b"Content-Length: +0\r\n\r\n" + HIDDEN,
)


@dataclass(frozen=True)
class Behaviour:
    """How many clients of a kind come, and in a second; what they send at once (by turns), then a byte a second.

    ``again``: one whose connection the server closes comes again.
    """

    count: int
    per_second: float
    begins: Sequence[bytes] = (b"",)
    drops: bytes = b""
    reads: bool = True
    again: bool = False


KINDS: Final = {
    "heads": Behaviour(1500, 500.0, (POST,), b"X-Slow: " + b"a" * BODY_BYTES),
    "bodies": Behaviour(500, 250.0, (POST + b"Content-Length: %d\r\n\r\n" % BODY_BYTES,), b" " * BODY_BYTES),
    "silent": Behaviour(3000, 1000.0),
    "readers of nothing": Behaviour(
        300, 5.0, (b"GET /openapi.json HTTP/1.1\r\nHost: proxy\r\n\r\n" * 16,), reads=False
    ),
    "pipelines": Behaviour(100, 20.0, (HIDDEN * 100,)),
    "heads of 200 kB": Behaviour(100, 20.0, (POST + b"X-Large: " + b"a" * 200_000 + b"\r\n\r\n",)),
    "heads of 10000 lines": Behaviour(
        100, 20.0, (POST + b"".join(b"X-%d: a\r\n" % line for line in range(10_000)) + b"\r\n",)
    ),
    "smuggled requests": Behaviour(120, 24.0, SMUGGLING),
}
# Those that come to the edge, together.
EDGE_KINDS: Final = {
    "slow readers": Behaviour(
        500, 500.0, (b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: edge\r\n\r\n",), reads=False, again=True
    ),
    "slow writers": Behaviour(
        500,
        500.0,
        (POST + b"Content-Length: %d\r\n\r\n" % LARGE_BODY_BYTES + b" " * (LARGE_BODY_BYTES - 1),),
        again=True,
    ),
}


@dataclass(frozen=True)
class ClientGroup:
    """Clients of one kind, and the seconds that they stay."""

    kind: str
    count: int
    port: int
    address: str
    hold: float
    addresses: int = 1

    def all_addresses(self) -> list[str]:
        """Return the addresses, by which clients come by turns."""
        return [str(IPv4Address(self.address) + place) for place in range(self.addresses)]


class BurdenConnection(asyncio.Protocol):
    """One connection: when it was open, the statuses it was answered, when the server closed it."""

    def __init__(self, begin: bytes, *, reads: bool) -> None:
        self.opened = self.answered = self.closed = 0.0
        self.statuses: list[str] = []
        self.ended = asyncio.Event()
        self._left = memoryview(begin)
        self._paused = False
        self._reads = reads

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.opened = time.monotonic()
        self._send()
        if not self._reads:
            # uvloop begins to read after this call.
            asyncio.get_running_loop().call_soon(self.transport.pause_reading)

    @override
    def data_received(self, data: bytes) -> None:
        self.answered = self.answered or time.monotonic()
        self.statuses += [status.decode() for status in cast("list[bytes]", STATUS_LINE.findall(data))]

    @override
    def pause_writing(self) -> None:
        self._paused = True

    @override
    def resume_writing(self) -> None:
        self._paused = False
        self._send()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = time.monotonic()
        self.ended.set()

    def _send(self) -> None:
        while self._left and not self._paused and not self.transport.is_closing():
            piece, self._left = self._left[:PIECE_BYTES], self._left[PIECE_BYTES:]
            self.transport.write(piece)


class ClientRunner:
    """Clients of a group while they run."""

    def __init__(self, group: ClientGroup) -> None:
        self._group = group
        self._kind = (KINDS | EDGE_KINDS)[group.kind]
        self._connecting = asyncio.Semaphore(MAX_CONNECTING)
        self._connections: list[BurdenConnection] = []
        self._errors: Counter[str] = Counter()

    async def run(self) -> dict[str, Any]:
        """Open all, hold them; return how they ended."""
        began, begins = time.monotonic(), itertools.cycle(self._kind.begins)
        dropping = asyncio.create_task(self._drop())
        addresses = itertools.cycle(self._group.all_addresses())
        dues = (began + place / self._kind.per_second for place in range(self._group.count))
        each = [(next(addresses), next(begins), due) for due in dues]
        connections = await asyncio.gather(*(self._connect(*one) for one in each))
        coming = [
            asyncio.create_task(self._come_again(connection, address, begin))
            for connection, (address, begin, _) in zip(connections, each, strict=True)
            if self._kind.again
        ]
        opened = f"{len(self._connections)} in {time.monotonic() - began:.1f} s"
        await asyncio.sleep(self._group.hold)
        most_answers = max((len(each.statuses) for each in self._connections), default=0)
        found = {"open": opened, "closed": self._ends(), "refused": self._errors, "most_answers": most_answers}
        for task in (dropping, *coming):
            task.cancel()
        for connection in self._connections:
            connection.transport.abort()
        return found

    async def _drop(self) -> None:
        for place in range(len(self._kind.drops)):
            await asyncio.sleep(PACE_SECONDS)
            for connection in self._connections:
                if not connection.closed:
                    connection.transport.write(self._kind.drops[place : place + 1])

    def _ends(self) -> str:
        """Say how many the server closed, after how long, and what it answered."""
        lasted = sorted(each.closed - each.opened for each in self._connections if each.closed)
        answered = [each.answered - each.opened for each in self._connections if each.answered]
        counts = Counter(status for each in self._connections for status in each.statuses)
        statuses = ", ".join(f"{status}: {count}" for status, count in counts.items())
        closed = str(len(lasted))
        if lasted:
            closed += f" after {lasted[0]:.1f} / {statistics.median(lasted):.1f} / {lasted[-1]:.1f} s"
        return f"{closed} (answered {statuses}, after {statistics.median(answered):.1f} s)" if statuses else closed

    async def _come_again(self, connection: BurdenConnection | None, address: str, begin: bytes) -> None:
        while True:
            if connection is not None:
                await connection.ended.wait()
            connection = await self._connect(address, begin, time.monotonic() + AGAIN_SECONDS)

    async def _connect(self, address: str, begin: bytes, due: float) -> BurdenConnection | None:
        await asyncio.sleep(due - time.monotonic())
        loop, opened = asyncio.get_running_loop(), socket.socket()
        opened.settimeout(0)
        opened.bind((address, 0))
        if not self._kind.reads:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        try:
            async with self._connecting, asyncio.timeout(CONNECT_SECONDS):
                await loop.sock_connect(opened, ("127.0.0.1", self._group.port))
                _, connection = await loop.create_connection(
                    lambda: BurdenConnection(begin, reads=self._kind.reads), sock=opened
                )
                self._connections.append(connection)
                return connection
        except (OSError, TimeoutError) as error:
            self._errors[type(error).__name__] += 1
            opened.close()
            return None


if __name__ == "__main__":
    print(json.dumps(uvloop.run(ClientRunner(ClientGroup(**json.loads(sys.argv[1]))).run())))
