"""Burdensome clients, in a process of their own: ``python -m benchmarks.connections.clients GROUP`` (as JSON).

Opens ``count`` connections from ``address``, ``per_second`` of them a second, holds them for ``hold`` seconds and closes them. Prints
two lines of JSON: one when all are open, one at the end. Kinds:

* silent: sends nothing.
* kept: sends one request (``/livez``) and keeps the connection.
* documents: requests 100 documents (``/openapi.json``) at once on one connection and reads 64 bytes a second.
* translations: requests a translation of 8,000 characters and reads 64 bytes a second.
* heads: sends a request's head, a byte a second.
* bodies: sends a translation's body, a byte a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

import uvloop

from benchmarks.harness.waiting import wait_until

# At once: fewer than a listening socket's queue.
MAX_CONNECTING: Final = 200
CONNECT_SECONDS: Final = 10.0
FIRST_RESPONSE_SECONDS: Final = 10.0
PACE_SECONDS: Final = 1.0
READ_BYTES: Final = 64
DOCUMENTS: Final = 100
# Digits: nothing for an engine, so that its responses are what is slow. The fleet's API servers take 4,000 in a text.
TEXTS: Final = ["0123456789 " * 363] * 2
# Small, so that what is not read is left with the server.
RECEIVE_BUFFER_BYTES: Final = 4096
BODY_BYTES: Final = 20_000
GET: Final = "GET {path} HTTP/1.1\r\nHost: proxy\r\n\r\n"
HEAD: Final = b"POST /translate HTTP/1.1\r\nHost: proxy\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True)
class ClientGroup:
    """Clients of one kind; times in seconds."""

    kind: str
    count: int
    per_second: float
    port: int
    address: str
    hold: float

    def to_json(self) -> str:
        """Return the group for a command line."""
        return json.dumps(asdict(self))


class ClientConnection:
    """One connection: when it was open, its first response and when that came, when the server closed it."""

    def __init__(self, address: str, receive_buffer: int | None) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(0)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.bind((address, 0))
        self.opened = self.answered = self.closed = 0.0
        self.status = ""
        self.ended = asyncio.Event()

    async def send(self, data: bytes) -> None:
        """Send everything."""
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def receive(self, limit: int = 65536) -> bytes:
        """Receive some bytes; the first ones are a response's status line."""
        received = await asyncio.get_running_loop().sock_recv(self.socket, limit)
        if received and not self.status:
            self.status = received[9:12].decode("ascii", "replace")
            self.answered = time.monotonic()
        return received

    async def wait_for_close(self) -> None:
        """Read until the server closes."""
        with contextlib.suppress(OSError):
            while await self.receive():
                pass
        self.closed = time.monotonic()
        self.ended.set()

    async def read_slowly(self, request: bytes) -> None:
        """Send a request and read a few bytes a second."""
        self.opened = time.monotonic()
        sending = asyncio.create_task(self.send(request))
        try:
            with contextlib.suppress(OSError):
                while await self.receive(READ_BYTES):  # noqa: ASYNC110 - the pace
                    await asyncio.sleep(PACE_SECONDS)
            self.closed = time.monotonic()
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def has_ended_within(self, seconds: float) -> bool:
        """Wait for the end; say whether it came in time."""
        try:
            async with asyncio.timeout(seconds):
                return await self.ended.wait()
        except TimeoutError:
            return False

    async def write_slowly(self, begin: bytes, rest: bytes) -> None:
        """Send the first part at once and the rest a byte a second."""
        self.opened = time.monotonic()
        reading = asyncio.create_task(self.wait_for_close())
        try:
            with contextlib.suppress(OSError):
                await self.send(begin)
                for place in range(len(rest)):
                    await self.send(rest[place : place + 1])
                    if await self.has_ended_within(PACE_SECONDS):
                        return
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def silent(connection: ClientConnection) -> None:
    """Send nothing."""
    connection.opened = time.monotonic()
    await connection.wait_for_close()


async def kept(connection: ClientConnection) -> None:
    """Send one request."""
    await connection.send(GET.format(path="/livez").encode())
    async with asyncio.timeout(FIRST_RESPONSE_SECONDS):
        await connection.receive()
    connection.opened = connection.answered
    await connection.wait_for_close()


async def documents(connection: ClientConnection) -> None:
    """Request much at once and read little."""
    await connection.read_slowly(GET.format(path="/openapi.json").encode() * DOCUMENTS)


async def translations(connection: ClientConnection) -> None:
    """Request a long response and read little."""
    body = json.dumps({"text": TEXTS, "source_lang": "en", "target_lang": "de"}).encode()
    await connection.read_slowly(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)


async def heads(connection: ClientConnection) -> None:
    """Never come to the end of the head."""
    await connection.write_slowly(HEAD, b"X-Slow: " + b"a" * BODY_BYTES)


async def bodies(connection: ClientConnection) -> None:
    """Never come to the end of the body."""
    await connection.write_slowly(HEAD + f"Content-Length: {BODY_BYTES}\r\n\r\n".encode(), b" " * BODY_BYTES)


KINDS: Final[dict[str, Callable[[ClientConnection], Awaitable[None]]]] = {
    "silent": silent,
    "kept": kept,
    "documents": documents,
    "translations": translations,
    "heads": heads,
    "bodies": bodies,
}
SLOW_READERS: Final = frozenset({"documents", "translations"})


class ClientRunner:
    """The clients of a group while they run."""

    def __init__(self, group: ClientGroup) -> None:
        self._group = group
        self._connecting = asyncio.Semaphore(MAX_CONNECTING)
        self._connections: list[ClientConnection] = []
        self._errors: Counter[str] = Counter()
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Open all, print it, hold them, print how they ended."""
        group, began = self._group, time.monotonic()
        await asyncio.gather(*(self._connect(began + place / group.per_second) for place in range(group.count)))
        await wait_until(self._settled, FIRST_RESPONSE_SECONDS + 1, "first responses")
        opened = sum(each.opened > 0 for each in self._connections)
        print(json.dumps({"open": opened, "refused": self._errors, "seconds": time.monotonic() - began}), flush=True)
        await asyncio.sleep(group.hold)
        print(json.dumps(self._summary()), flush=True)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections:
            connection.socket.close()

    def _settled(self) -> bool:
        return all(each.opened or each.ended.is_set() for each in self._connections)

    def _summary(self) -> dict[str, Any]:
        lasted = sorted(each.closed - each.opened for each in self._connections if each.opened and each.closed)
        answered = [each.answered - each.opened for each in self._connections if each.answered]
        return {
            "closed": len(lasted),
            "closed_after": [lasted[0], statistics.median(lasted), lasted[-1]] if lasted else [],
            "answered_after": statistics.median(answered) if answered else None,
            "statuses": Counter(each.status for each in self._connections if each.status),
            "cpu": time.process_time(),
        }

    async def _connect(self, due: float) -> None:
        await asyncio.sleep(due - time.monotonic())
        group = self._group
        async with self._connecting:
            connection = ClientConnection(group.address, RECEIVE_BUFFER_BYTES if group.kind in SLOW_READERS else None)
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await asyncio.get_running_loop().sock_connect(connection.socket, ("127.0.0.1", group.port))
            except (OSError, TimeoutError) as error:
                self._errors[type(error).__name__] += 1
                connection.socket.close()
                return
            self._connections.append(connection)
            self._tasks.append(asyncio.create_task(self._behave(connection)))

    async def _behave(self, connection: ClientConnection) -> None:
        try:
            await KINDS[self._group.kind](connection)
        except (OSError, TimeoutError) as error:
            self._errors[type(error).__name__] += 1
        finally:
            connection.ended.set()


async def run(group: ClientGroup) -> None:
    """Run a group."""
    await ClientRunner(group).run()


if __name__ == "__main__":
    uvloop.run(run(ClientGroup(**json.loads(sys.argv[1]))))
