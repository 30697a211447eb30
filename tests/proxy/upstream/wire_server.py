"""Servers at the wire: what each does with a connection is a coroutine of the test."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Peer:
    """One connection, as the server sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """Read one request, its body too."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        return head + await self.reader.readexactly(int(length[0].split(b":")[1]) if length else 0)

    async def send(self, *parts: bytes) -> None:
        """Send each part in a segment of its own, as far as the kernel lets us."""
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0)

    async def ended(self) -> None:
        """Wait until the client has closed the connection."""
        with suppress(ConnectionError):
            while await self.reader.read(65536):
                pass

    def reset(self) -> None:
        """Close with RST rather than FIN."""
        taken: socket.socket = self.writer.get_extra_info("socket")
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class WireServer:
    """A server on a real socket; use :func:`wire_server`."""

    def __init__(self, script: Callable[[Peer], Awaitable[None]]) -> None:
        self.url = ""
        self.connections = 0
        self.closed_by_client = 0
        self._script = script
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._script(Peer(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed_by_client += 1
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def stop(self) -> None:
        """Cancel what still runs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def wire_server(
    script: Callable[[Peer], Awaitable[None]], *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncGenerator[WireServer]:
    """Run a server whose connections each follow the script."""
    one = WireServer(script)
    server = await asyncio.start_server(one.accept, host, 0, ssl=tls)
    port = int(server.sockets[0].getsockname()[1])
    name = f"[{host}]" if ":" in host else host
    one.url = f"{'http' if tls is None else 'https'}://{name}:{port}"
    try:
        yield one
    finally:
        server.close()
        await one.stop()


async def answer_all(peer: Peer) -> None:
    """Answer every request."""
    while True:
        await peer.request()
        await peer.send(OK)


def answering(*parts: bytes) -> Callable[[Peer], Awaitable[None]]:
    """Return a script that answers each request with these parts."""

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(*parts)

    return script


def ending(*parts: bytes) -> Callable[[Peer], Awaitable[None]]:
    """Return a script that answers the first request with these parts, and closes."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(*parts)

    return script
