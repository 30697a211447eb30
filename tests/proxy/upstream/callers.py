"""Callers of the HTTP client for one server, and pieces of answers that its tests send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proxy.upstream.http_client import Endpoint, UpstreamCall, address_of
from proxy.upstream.response_classifier import ReplicaResponse
from proxy.upstream.stream_reader import StreamReader
from tests.proxy.upstream.wire_server import Peer, wire_server

LIMIT = 100_000
SECONDS = 20.0
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
EVENTS = HEAD + b"Content-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
RESULT = b"event: result\ndata: {}\n\n"


class Caller:
    """Sends requests to one server."""

    def __init__(self, url: str, connect_timeout: float = SECONDS) -> None:
        self.endpoint = Endpoint(address_of(url, ""), connect_timeout)

    def begin(
        self,
        body: bytes = b"{}",
        *,
        seconds: float = SECONDS,
        limit: int = LIMIT,
        reader: StreamReader | None = None,
        is_repeatable: bool = False,
    ) -> UpstreamCall:
        head = f"POST / HTTP/1.1\r\n{self.endpoint.address.headers}Content-Length: {len(body)}\r\n\r\n".encode()
        return UpstreamCall(self.endpoint, head + body, seconds, limit, reader=reader, is_repeatable=is_repeatable)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(index: int, text: str) -> bytes:
    return chunk(b'event: delta\ndata: {"index": %d, "text": "%s"}\n\n' % (index, text.encode()))


Script = Callable[[Peer], Awaitable[None]]
Callers = Callable[[str], Caller]


async def ask(callers: Callers, script: Script, *, limit: int = LIMIT) -> tuple[ReplicaResponse, int]:
    """Return the answer, and how many connections can be used again after it."""
    async with wire_server(script) as server:
        caller = callers(server.url)
        response = await caller.begin(limit=limit)
        return response, len(caller.endpoint.idle)
