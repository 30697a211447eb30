"""Clients that are a burden, in a process of their own: ``python -m benchmarks.connections.clients PLAN`` (as JSON).

Opens ``count`` connections from ``address``, ``per_second`` of them a second, holds them for ``hold`` seconds and closes them. Prints two lines of JSON: one
when all are open, one at the end. Kinds:

* silent: says nothing.
* kept: asks once (``/livez``) and keeps the connection.
* documents: asks for 100 documents (``/openapi.json``) at once on one connection and reads 64 bytes a second.
* translations: asks for a translation of 8,000 characters and reads 64 bytes a second.
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
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

import uvloop

from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# At once: fewer than a listening socket's queue.
CONNECTING: Final = 200
CONNECT_SECONDS: Final = 10.0
FIRST_ANSWER_SECONDS: Final = 10.0
PACE_SECONDS: Final = 1.0
READ_BYTES: Final = 64
DOCUMENTS: Final = 100
# Digits: nothing for an engine, so that its answers are what is slow. The scene's API servers take 4,000 in a text.
TEXTS: Final = ["0123456789 " * 363] * 2
# Small, so that what is not read is left with the server.
RECEIVE_BUFFER_BYTES: Final = 4096
BODY_BYTES: Final = 20_000
GET: Final = "GET {path} HTTP/1.1\r\nHost: proxy\r\n\r\n"
HEAD: Final = b"POST /translate HTTP/1.1\r\nHost: proxy\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True)
class Crowd:
    """What to be; times in seconds."""

    kind: str
    count: int
    per_second: float
    port: int
    address: str
    hold: float

    def as_json(self) -> str:
        """Return what the process takes as its argument."""
        return json.dumps(asdict(self))


@dataclass
class Visit:
    """One connection: when it was open (and had its first answer), what it was answered and when, when the server ended it."""

    socket: socket.socket
    opened: float = 0.0
    answered: float = 0.0
    closed: float = 0.0
    status: str = ""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, said: bytes) -> None:
        """Take the status of the first answer."""
        if not self.status:
            self.status = said[9:12].decode("ascii", "replace")
            self.answered = time.monotonic()

    async def until_closed(self) -> None:
        """Read until the server closes; the first line that comes is its answer."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while said := await loop.sock_recv(self.socket, 65536):
                self.hear(said)
        self.closed = time.monotonic()
        self.ended.set()


async def silent(visit: Visit) -> None:
    """Say nothing."""
    visit.opened = time.monotonic()
    await visit.until_closed()


async def kept(visit: Visit) -> None:
    """Ask once."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(visit.socket, GET.format(path="/livez").encode())
    async with asyncio.timeout(FIRST_ANSWER_SECONDS):
        said = await loop.sock_recv(visit.socket, 65536)
    visit.opened = time.monotonic()
    visit.hear(said)
    await visit.until_closed()


async def documents(visit: Visit) -> None:
    """Ask for much at once and read little."""
    await _read_slowly(visit, GET.format(path="/openapi.json").encode() * DOCUMENTS)


async def translations(visit: Visit) -> None:
    """Ask for a long answer and read little."""
    body = json.dumps({"text": TEXTS, "source_lang": "en", "target_lang": "de"}).encode()
    await _read_slowly(visit, HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)


async def _read_slowly(visit: Visit, asked: bytes) -> None:
    loop = asyncio.get_running_loop()
    visit.opened = time.monotonic()
    asking = asyncio.create_task(loop.sock_sendall(visit.socket, asked))
    try:
        with contextlib.suppress(OSError):
            while said := await loop.sock_recv(visit.socket, READ_BYTES):
                visit.hear(said)
                await asyncio.sleep(PACE_SECONDS)
        visit.closed = time.monotonic()
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def heads(visit: Visit) -> None:
    """Never come to the end of the head."""
    await _byte_by_byte(visit, HEAD, b"X-Slow: " + b"a" * BODY_BYTES)


async def bodies(visit: Visit) -> None:
    """Never come to the end of the body."""
    await _byte_by_byte(visit, HEAD + f"Content-Length: {BODY_BYTES}\r\n\r\n".encode(), b" " * BODY_BYTES)


async def _byte_by_byte(visit: Visit, begin: bytes, rest: bytes) -> None:
    loop = asyncio.get_running_loop()
    visit.opened = time.monotonic()
    listening = asyncio.create_task(visit.until_closed())
    try:
        with contextlib.suppress(OSError):
            await loop.sock_sendall(visit.socket, begin)
            for place in range(len(rest)):
                await loop.sock_sendall(visit.socket, rest[place : place + 1])
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PACE_SECONDS):
                        await visit.ended.wait()
                        return
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


KINDS: Final[dict[str, Callable[[Visit], Awaitable[None]]]] = {
    "silent": silent,
    "kept": kept,
    "documents": documents,
    "translations": translations,
    "heads": heads,
    "bodies": bodies,
}


async def be(crowd: Crowd) -> None:
    """Open all, say so, hold, say what came of it."""
    loop = asyncio.get_running_loop()
    gate = asyncio.Semaphore(CONNECTING)
    visits: list[Visit] = []
    refused: Counter[str] = Counter()
    staying: list[asyncio.Task[None]] = []

    async def come() -> None:
        visit = Visit(socket.socket())
        visit.socket.settimeout(0)
        if crowd.kind in {"documents", "translations"}:
            visit.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        visit.socket.bind((crowd.address, 0))
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.sock_connect(visit.socket, ("127.0.0.1", crowd.port))
        except (OSError, TimeoutError) as error:
            refused[type(error).__name__] += 1
            visit.socket.close()
            return
        visits.append(visit)
        staying.append(asyncio.create_task(stay(visit)))

    async def stay(visit: Visit) -> None:
        try:
            await KINDS[crowd.kind](visit)
        except (OSError, TimeoutError) as error:
            refused[type(error).__name__] += 1
        finally:
            visit.ended.set()

    async def come_in_turn(due: float) -> None:
        await asyncio.sleep(due - time.monotonic())
        async with gate:
            await come()

    began = time.monotonic()
    await asyncio.gather(*(come_in_turn(began + place / crowd.per_second) for place in range(crowd.count)))
    settled = FIRST_ANSWER_SECONDS + 1
    await wait_until(lambda: all(visit.opened or visit.ended.is_set() for visit in visits), settled, "first answers")
    opened = sum(visit.opened > 0 for visit in visits)
    print(json.dumps({"open": opened, "refused": refused, "seconds": time.monotonic() - began}), flush=True)
    await asyncio.sleep(crowd.hold)
    stayed = sorted(visit.closed - visit.opened for visit in visits if visit.opened and visit.closed)
    answered = sorted(visit.answered - visit.opened for visit in visits if visit.answered)
    end = {
        "closed": len(stayed),
        "closed_after": [stayed[0], statistics.median(stayed), stayed[-1]] if stayed else [],
        "answered_after": statistics.median(answered) if answered else None,
        "statuses": Counter(visit.status for visit in visits if visit.status),
        "cpu": time.process_time(),
    }
    for task in staying:
        task.cancel()
    await asyncio.gather(*staying, return_exceptions=True)
    for visit in visits:
        visit.socket.close()
    print(json.dumps(end), flush=True)


def main() -> None:
    """Be the crowd of the command line."""
    uvloop.run(be(Crowd(**json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
