"""Hostile clients of many kinds at once: no normal request beside them fails."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.conftest import RedisServer
from tests.proxy.proxy_process import proxy_process
from tests.support.fake_replica import FakeReplica, replicas

pytestmark = pytest.mark.system

HEADS_IN_DROPS: Final = 1_500
BODIES_IN_DROPS: Final = 500
SILENT: Final = 3_000
NEVER_READING: Final = 300
PIPELINING: Final = 100
# Of each kind below, one after the other.
REPEATED: Final = 10
CONNECTIONS: Final = HEADS_IN_DROPS + BODIES_IN_DROPS + SILENT + NEVER_READING + PIPELINING
OPENED_AT_ONCE: Final = 100
NORMAL_REQUESTS: Final = 120
NORMAL_AT_ONCE: Final = 4
DROP_SECONDS: Final = 0.5
# A machine may pause that long.
ANSWER_SECONDS: Final = 60.0

HOST: Final = b"Host: x\r\n"
TYPE: Final = b"Content-Type: application/json\r\n"
HEAD: Final = b"POST /translate HTTP/1.1\r\n" + HOST + TYPE
GET: Final = b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n"
READY: Final = b"GET /readyz HTTP/1.1\r\n" + HOST + b"\r\n"
BROKEN: Final = (
    HEAD + b"X: " + b"x" * 200_000 + b"\r\n\r\n",
    HEAD + b"X: y\r\n" * 10_000 + b"\r\n",
    b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n",
    HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + READY,
    HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + READY,
    HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + READY,
    HEAD + b"X: y\r\n Content-Length: 5\r\n\r\nhello" + READY,
    HEAD + b"Content-Length : 5\r\n\r\nhello" + READY,
    HEAD + b"Content-Length: +5\r\n\r\nhello" + READY,
    HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + READY,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nnot hexadecimal\r\n" + READY,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx" + READY,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nxxx\r\n0\r\n\r\n" + READY,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01",
)


@pytest.fixture(autouse=True)
def many_open_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * CONNECTIONS:
        pytest.skip(f"{CONNECTIONS} connections need more open files than {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * CONNECTIONS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def _connect(port: int, first: bytes, *, reads: bool = True) -> socket.socket:
    loop = asyncio.get_running_loop()
    one = socket.socket()
    one.setblocking(False)
    if not reads:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    await loop.sock_connect(one, ("127.0.0.1", port))
    if first:
        await loop.sock_sendall(one, first)
    return one


async def _open(port: int, count: int, first: bytes, *, reads: bool = True) -> list[socket.socket]:
    opened: list[socket.socket] = []
    for _ in range(count // OPENED_AT_ONCE):
        opened += await asyncio.gather(*(_connect(port, first, reads=reads) for _ in range(OPENED_AT_ONCE)))
    return opened


async def _drip(sockets: Sequence[socket.socket], drop: bytes) -> None:
    """Send a byte more on each, again and again; those that the proxy has closed are left."""
    while True:
        await asyncio.sleep(DROP_SECONDS)  # the pace of the drops, not a wait for an outcome
        for one in sockets:
            try:
                one.send(drop)
            except OSError:
                continue


async def _send_broken(port: int) -> None:
    """Send what is no HTTP, or too large, or two requests to two readers: none of it may be answered as a request."""
    for shape in BROKEN * REPEATED:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(shape)
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await reader.read()
            assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 ")), (shape[:200], answer)
            assert b"HTTP/1.1 2" not in answer
        except ConnectionError:  # the proxy has closed before it read all of it
            continue
        finally:
            writer.close()


@asynccontextmanager
async def _hostile_clients(port: int) -> AsyncGenerator[None]:
    sockets: list[socket.socket] = []
    try:
        heads = await _open(port, HEADS_IN_DROPS, b"POST /trans")
        bodies = await _open(port, BODIES_IN_DROPS, HEAD + b"Content-Length: 100000\r\n\r\n{")
        sockets += [*heads, *bodies]
        sockets += await _open(port, SILENT, b"")
        sockets += await _open(port, NEVER_READING, GET, reads=False)
        sockets += await _open(port, PIPELINING, READY * 100, reads=False)
        dripping = [asyncio.create_task(_drip(each, b"x")) for each in (heads, bodies)]
        try:
            yield
        finally:
            for task in dripping:
                task.cancel()
            await asyncio.gather(*dripping, return_exceptions=True)
    finally:
        for one in sockets:
            one.close()


async def _send_normal(client: httpx.AsyncClient, numbers: Iterator[int]) -> list[int]:
    wanted = {"source_lang": "en", "target_lang": "de"}
    return [
        (await client.post("/translate", json={**wanted, "text": f"Hello {number}"})).status_code for number in numbers
    ]


async def test_normal_requests_beside_hostile_clients_succeed(tmp_path: Path, redis: RedisServer) -> None:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy_process(tmp_path, redis, fake) as (server, client):
        port = client.base_url.port
        assert port is not None
        async with _hostile_clients(port):
            numbers = iter(range(NORMAL_REQUESTS))
            normal = [_send_normal(client, numbers) for _ in range(NORMAL_AT_ONCE)]
            _, *statuses = await asyncio.gather(_send_broken(port), *normal)
        assert [status for each in statuses for status in each or ()] == [200] * NORMAL_REQUESTS
        assert (await client.get("/livez")).status_code == 200
        assert "Traceback" not in server.tail(1_000)
