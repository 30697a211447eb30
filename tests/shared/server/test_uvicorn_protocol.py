"""Clients that ask for another protocol first, as curl --http2 and Java's HttpClient do, are served in HTTP/1.1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from shared.http.app_setup import configure_app
from tests.shared.server.raw_client import RawClient, raw_client
from tests.support.serving import Serving, serving

UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\n" + UPGRADE
LENGTH = HEAD + b"Content-Length: 5\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
GET = b"GET /plain HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
async def served() -> AsyncGenerator[Serving]:
    app = FastAPI()

    async def echo(request: Request) -> Response:
        return Response(await request.body())

    async def plain() -> Response:
        return Response("plain")

    app.add_api_route("/echo", echo, methods=["POST"])
    app.add_api_route("/plain", plain)
    configure_app(app)
    async with serving(app) as one:
        yield one


async def _answers(one: RawClient, bodies: list[bytes]) -> None:
    for body in bodies:
        status, _, content = await one.answer()
        assert (status, content) == (200, body)


@pytest.mark.parametrize(
    "pieces",
    [
        [LENGTH + b"hello"],
        [LENGTH, b"hello"],
        [LENGTH[:-1], b"\nhe", b"llo"],
        [CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"],
        [CHUNKED, b"5\r\nhel", b"lo\r\n0\r\n", b"\r\n"],
    ],
)
async def test_body_after_upgrade_belongs_to_the_request(served: Serving, pieces: list[bytes]) -> None:
    async with raw_client(served) as one:
        for _ in range(3):  # each asks for the upgrade
            for piece in pieces:
                one.send(piece)
                await asyncio.sleep(0.02)
            await _answers(one, [b"hello"])
        one.send(GET + b"\r\n")
        await _answers(one, [b"plain"])


async def test_upgrade_without_body_keeps_pipelined_requests(served: Serving) -> None:
    async with raw_client(served) as one:
        one.send(GET + UPGRADE + b"\r\n" + LENGTH + b"hello" + GET + b"\r\n" + GET + UPGRADE + b"\r\n")
        await _answers(one, [b"plain", b"hello", b"plain", b"plain"])


async def test_body_that_looks_like_a_request_is_a_body(served: Serving) -> None:
    smuggled = GET + b"\r\n"
    head = HEAD + b"Content-Length: %d\r\n\r\n" % len(smuggled)
    async with raw_client(served) as one:
        one.send(head)
        await asyncio.sleep(0.02)
        one.send(smuggled + LENGTH + b"hello")
        await _answers(one, [smuggled, b"hello"])


async def test_empty_body_after_upgrade_is_empty(served: Serving) -> None:
    async with raw_client(served) as one:
        for _ in range(2):
            one.send(HEAD + b"Content-Length: 0\r\n\r\n")
            await _answers(one, [b""])
        one.send(GET + b"\r\n")
        await _answers(one, [b"plain"])


async def test_unknown_transfer_coding_is_400(served: Serving) -> None:
    async with raw_client(served) as one:
        one.send(HEAD + b"Transfer-Encoding: gzip\r\n\r\nhello")
        assert b" 400 " in (await one.rest())[:20]


async def test_invalid_http_after_the_body_closes(served: Serving) -> None:
    async with raw_client(served) as one:
        one.send(LENGTH + b"hellono such thing\r\n\r\n")
        await _answers(one, [b"hello"])
        assert await one.rest() == b""


@pytest.mark.parametrize(
    "lengths", [b"Content-Length: 5\r\nContent-Length: 6\r\n", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"]
)
async def test_conflicting_lengths_are_400(served: Serving, lengths: bytes) -> None:
    async with raw_client(served) as one:
        one.send(HEAD + lengths + b"\r\nhello")
        assert b" 400 " in (await one.rest())[:20]


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    await Response(await Request(scope, receive).body())(scope, receive, send)


async def test_plain_uvicorn_loses_the_body() -> None:
    """Kludex/uvicorn#2722: when this fails it is fixed, and UpgradeIgnoringProtocol has to go."""
    config = uvicorn.Config(_echo, ws="none", lifespan="off", log_config=None)
    config.load()

    def protocol() -> HttpToolsProtocol:
        return HttpToolsProtocol(config, ServerState(), app_state={})

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(LENGTH + b"hello")
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        writer.close()
        await writer.wait_closed()
    assert b"content-length: 0\r\n" in answer.lower()
