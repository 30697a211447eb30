"""Relays between the proxy and its replicas, with faults on order: ``python -m tests.faults.fault_proxy CONTROL PORT=TARGET…``.

Each relay listens on PORT and passes everything on to TARGET, both on 127.0.0.1, and notes every POST /translate with
the time (monotonic seconds) and its request id. A target that refuses connections is refused here too, and one that
resets them resets them here. Through the control port a relay (``relay``: its PORT) takes its ``mode``:

    pass       as above
    drop       nothing gets through in either direction, connections stay open, new ones get no answer to their SYN;
               what was held back comes through when the mode changes, as TCP would send it again
    reset      the answer to POST /translate is reset in its middle
    500 503    POST /translate is answered at once, without a problem
    overloaded pair-unavailable    POST /translate is answered at once with 503 and that problem

and answers with its ``mode``, its ``hits`` from number ``since`` on, and its ``connections``.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from typing import Any

import uvloop

from tests.faults.control import controlled

BACKLOG = 512
# How soon a target that listens again is seen.
LOOK_SECONDS = 0.02
CHUNK = 65_536
# A soak's share of one relay is 20,000; more are not needed by anybody.
MAX_HITS = 200_000
HEAD_END = b"\r\n\r\n"


def _problem(status: int, code: str, retry_after: int) -> bytes:
    problem = {"type": f"urn:pairway:{code}", "title": code, "status": status, "code": code, "detail": f"Says {code}."}
    return _answer(status, json.dumps(problem).encode(), f"Retry-After: {retry_after}\r\n")


def _answer(status: int, body: bytes, details: str = "") -> bytes:
    kind = "application/problem+json" if body.startswith(b"{") else "text/plain"
    head = f"HTTP/1.1 {status} Fault\r\nContent-Type: {kind}\r\n{details}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


INSTANT = {
    "500": _answer(500, b"Internal Server Error"),
    "503": _answer(503, b"Service Unavailable"),
    "overloaded": _problem(503, "overloaded", 1),
    "pair-unavailable": _problem(503, "pair-unavailable", 5),
}
MODES = frozenset({"pass", "drop", "reset", *INSTANT})


class Relay:
    """One listening port and its target."""

    def __init__(self, port: int, target: int) -> None:
        self.port = port
        self.target = target
        self.mode = "pass"
        self.hits: list[tuple[float, str]] = []
        self._flows = asyncio.Event()
        self._flows.set()
        self._listener: socket.socket | None = None
        self._fillers: list[socket.socket] = []
        self._accepting: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._waiting = asyncio.create_task(self._until_target())

    def apply(self, change: dict[str, Any]) -> dict[str, Any]:
        if (mode := change.get("mode", self.mode)) != self.mode:
            assert mode in MODES, mode
            if mode == "drop":
                self._cut_off()
            elif self.mode == "drop":
                self._join()
            self.mode = mode
        since = change.get("since")
        return {
            "mode": self.mode,
            "count": len(self.hits),
            "hits": [] if since is None else self.hits[since:],
            "connections": len(self._connections),
        }

    def _listen(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
        self._listener = listener
        if self.mode == "drop":
            self._cut_off()
        else:
            self._accepting = asyncio.create_task(self._accept(listener))

    def _refuse(self) -> None:
        """Do as the kernel does where nobody listens, until the target does again."""
        if self._listener is not None and self.mode != "drop":
            if self._accepting is not None:
                self._accepting.cancel()
            self._listener.close()
            self._listener = None
            self._waiting = asyncio.create_task(self._until_target())

    async def _until_target(self) -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.target)
                writer.close()
                self._listen()
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _cut_off(self) -> None:
        """Let the kernel drop every further SYN: nobody accepts, and the queue of those to accept is full."""
        self._flows.clear()
        if self._listener is None:
            return
        if self._accepting is not None:
            self._accepting.cancel()
            self._accepting = None
        self._listener.listen(0)
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            with suppress(BlockingIOError):
                filler.connect(("127.0.0.1", self.port))
            self._fillers.append(filler)

    def _join(self) -> None:
        self._flows.set()
        for filler in self._fillers:
            filler.close()
        self._fillers.clear()
        if self._listener is not None:
            self._listener.listen(BACKLOG)
            self._accepting = asyncio.create_task(self._accept(self._listener))

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            taken, _ = await loop.sock_accept(listener)
            task = asyncio.create_task(self._connection(taken))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    async def _connection(self, taken: socket.socket) -> None:
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader, writer = await asyncio.open_connection(sock=taken)
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            self._refuse()
            _reset(writer)
            return
        connection = _Connection(self, reader, writer, to_reader, to_writer)
        directions = {asyncio.create_task(connection.requests()), asyncio.create_task(connection.answers())}
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            await self._flows.wait()  # not even an end gets through
        finally:
            for direction in directions:
                direction.cancel()
            ended = await asyncio.gather(*directions, return_exceptions=True)
            if any(isinstance(end, ConnectionResetError) for end in ended):
                _reset(writer)
                _reset(to_writer)
            for end in (writer, to_writer):
                end.close()
        await self._look()

    async def _look(self) -> None:
        """Refuse at once when the target is what ended the connection."""
        if self._listener is None:
            return
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            self._refuse()
        else:
            writer.close()

    def note(self, request_id: str) -> None:
        if len(self.hits) < MAX_HITS:
            self.hits.append((time.monotonic(), request_id))

    async def flows(self) -> None:
        await self._flows.wait()


class _Connection:
    """One connection of the proxy, and ours to the target."""

    def __init__(
        self,
        relay: Relay,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        to_reader: asyncio.StreamReader,
        to_writer: asyncio.StreamWriter,
    ) -> None:
        self.relay = relay
        self.reader, self.writer = reader, writer
        self.to_reader, self.to_writer = to_reader, to_writer
        self.translates = False

    async def requests(self) -> None:
        """Pass requests on, or answer them; ends with the client's end."""
        while True:
            try:
                head = await self.reader.readuntil(HEAD_END)
                body = await self.reader.readexactly(_content_length(head))
            except asyncio.IncompleteReadError:
                return
            self.translates = head.startswith(b"POST /translate ")
            if self.translates:
                self.relay.note(_header(head, b"x-request-id:").decode())
            await self.relay.flows()
            if self.translates and self.relay.mode in INSTANT:
                self.writer.write(INSTANT[self.relay.mode])
                continue
            self.to_writer.write(head + body)
            await self.to_writer.drain()

    async def answers(self) -> None:
        """Pass answers on as they come; ends with the target's end."""
        while chunk := await self.to_reader.read(CHUNK):
            await self.relay.flows()
            if self.translates and self.relay.mode == "reset":
                while HEAD_END not in chunk or chunk.endswith(HEAD_END):
                    chunk += await self.to_reader.read(CHUNK)
                middle = (chunk.index(HEAD_END) + len(HEAD_END) + len(chunk)) // 2
                self.writer.write(chunk[:middle])
                await self.writer.drain()
                raise ConnectionResetError
            self.writer.write(chunk)
            await self.writer.drain()


def _header(head: bytes, name: bytes) -> bytes:
    line = next((line for line in head.split(b"\r\n") if line.lower().startswith(name)), b"")
    return line[len(name) :].strip()


def _content_length(head: bytes) -> int:
    return int(_header(head, b"content-length:") or b"0")


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST rather than FIN."""
    taken: socket.socket | None = writer.get_extra_info("socket")
    if taken is not None and taken.fileno() != -1:
        with suppress(OSError):
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def serve(control_port: int, relays: dict[int, Relay]) -> None:
    """Relay until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    for relay in relays.values():
        relay.start()
    async with controlled(control_port, lambda change: relays[change["relay"]].apply(change)):
        await stop.wait()


def main() -> None:
    routes = [tuple(map(int, route.split("="))) for route in sys.argv[2:]]
    uvloop.run(serve(int(sys.argv[1]), {port: Relay(port, target) for port, target in routes}))


if __name__ == "__main__":
    main()
