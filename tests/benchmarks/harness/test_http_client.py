"""The load generator's HTTP client against a server that answers as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from benchmarks.harness.http_client import HttpClient, HttpResponse

PLAIN = b"HTTP/1.1 200 OK\r\nX-Name: value\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"


class ScriptedServer:
    """Answers each request with the next answer, in pieces; then closes."""

    def __init__(self, answers: Sequence[Sequence[bytes]]) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self._answers = iter(answers)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while head := await _head(reader):
            length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
            self.requests.append(head + await reader.readexactly(length))
            for piece in next(self._answers, ()):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            if head and not self.requests[-1].endswith(b"stay"):
                break
        writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


@asynccontextmanager
async def scripted(
    *answers: Sequence[bytes], within: float = 10.0
) -> AsyncGenerator[tuple[HttpClient, ScriptedServer]]:
    scripted = ScriptedServer(answers)
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    async with server:
        client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/path", timeout=within)
        yield client, scripted
        client.close()


async def test_requests_share_a_connection_and_have_their_headers() -> None:
    async with scripted([PLAIN], [PLAIN[:30], PLAIN[30:]]) as (client, server):
        assert await client.post(b"stay", "X-More: 1\r\n") == HttpResponse(200, _headers(PLAIN), b"hello")
        assert (await client.post(b"stay")).body == b"hello"
    assert server.connections == 1
    assert server.requests[0].startswith(b"POST /path HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nX-More: 1\r\n" in server.requests[0]


def _headers(answer: bytes) -> dict[bytes, bytes]:
    lines = answer.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(b": ") for line in lines)}


async def test_chunks_in_pieces_are_one_body() -> None:
    async with scripted([bytes([byte]) for byte in CHUNKED]) as (client, _):
        response = await client.post(b"stay")
    assert (response.status, response.body) == (503, b"hello")


async def test_connection_that_the_server_ends_is_not_used_again() -> None:
    async with scripted([CLOSING], [PLAIN]) as (client, server):
        assert (await client.post(b"go")).body == b"hi"
        assert (await client.post(b"stay")).body == b"hello"
    assert server.connections == 2


@pytest.mark.parametrize("answer", [[], [PLAIN[:-1]], [b"no HTTP\r\n\r\n"]])
async def test_broken_answers_are_connection_errors(answer: Sequence[bytes]) -> None:
    async with scripted(answer, [PLAIN]) as (client, server):
        with pytest.raises(ConnectionError):
            await client.post(b"go")
        assert (await client.post(b"stay")).status == 200
    assert server.connections == 2


async def test_silence_is_a_timeout() -> None:
    async with scripted([], [PLAIN], within=0.1) as (client, server):
        with pytest.raises(TimeoutError):
            await client.post(b"stay")
    assert server.connections == 1
