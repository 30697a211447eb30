"""What a connection may hold and for how long, on raw sockets: the failures first."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from shared.http.app_setup import configure_app
from shared.http.body import WHOLE_BODY_EXTENSION
from shared.server import draining_server
from shared.server.limits import (
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_HELD_REFUSED,
    MAX_LINGER_BYTES,
    MAX_PIPELINED_REQUESTS,
    ConnectionLimiter,
    PeerTimeouts,
)
from tests.shared.server.raw_client import RawClient, raw_client
from tests.support.serving import Serving, serving
from tests.support.waiting import again_where_paused, wait_until

HOST = b"Host: x\r\n"
GET = b"GET /plain HTTP/1.1\r\n" + HOST
GOOD = GET + b"\r\n"
POST = b"POST /body HTTP/1.1\r\n" + HOST
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
# Short, so that tests are.
SHORT_TIMEOUTS = PeerTimeouts(head=0.15, body=0.15, linger=0.5, linger_idle=0.1)
BIG = b"x" * 30_000_000


async def body(request: Request) -> Response:
    return Response(str(len(await request.body())))


async def late(request: Request) -> Response:
    await asyncio.sleep(
        2.2 * SHORT_TIMEOUTS.body
    )  # not when the server looks whether it is late, which is at whole times
    return await body(request)


async def whole(request: Request) -> Response:
    before = WHOLE_BODY_EXTENSION in request.scope["extensions"]
    await request.body()
    return Response(f"{before} {WHOLE_BODY_EXTENSION in request.scope['extensions']}")


async def trailed(request: Request) -> Response:
    await request.body()
    return Response(str(request.headers.get("authorization")))


def make_app() -> FastAPI:
    app = FastAPI()
    app.state.cancelled = 0

    async def plain() -> Response:
        return Response("plain")

    async def slow() -> Response:
        await asyncio.sleep(0.2)
        return Response("slow")

    async def big() -> Response:
        return Response(BIG)

    async def stream() -> Response:
        async def parts() -> AsyncGenerator[bytes]:
            try:
                while True:
                    yield b"x" * 65_536
                    await asyncio.sleep(0)  # what is sent to nobody awaits nothing
            finally:
                app.state.cancelled += 1

        return StreamingResponse(parts())

    for path, handler in (("/plain", plain), ("/slow", slow), ("/big", big), ("/stream", stream)):
        app.add_api_route(path, handler)
    for path, handler in (("/body", body), ("/late", late), ("/trailed", trailed), ("/whole", whole)):
        app.add_api_route(path, handler, methods=["POST"])
    configure_app(app)
    return app


@pytest.fixture(scope="module")
async def served() -> AsyncGenerator[Serving]:
    async with serving(make_app()) as one:
        yield one


@pytest.fixture(scope="module")
async def impatient() -> AsyncGenerator[Serving]:
    async with serving(make_app(), ConnectionLimiter(timeouts=SHORT_TIMEOUTS)) as one:
        yield one


@pytest.fixture(autouse=True)
async def unharmed(served: Serving, impatient: Serving) -> AsyncGenerator[None]:
    """Whatever a test did, the next good request is answered, and no connection stays."""
    yield
    for each in (served, impatient):

        async def is_served(each: Serving = each) -> None:
            async with raw_client(each) as one:
                one.send(GOOD)
                assert (await one.answer())[0] == 200

        await again_where_paused(is_served)
        await wait_until(lambda each=each: not each.connections, 5, "no connection left")


@pytest.mark.parametrize("size", [MAX_HEAD_BYTES + 1, 10 * MAX_HEAD_BYTES])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("where", ["target", "header", "headers", "lines"])
async def test_head_above_the_limit_is_431(served: Serving, size: int, where: str, whole: bool) -> None:
    head = {
        "target": b"GET /plain?" + b"x" * size,
        "header": GET + b"X: " + b"x" * size,
        "lines": GET + b"X:\r\n" * (size // 4),
        "headers": GET + b"".join(b"X%d: %s\r\n" % (n, b"x" * (size // 40)) for n in range(41)),
    }[where]
    async with raw_client(served) as one:
        one.send(head + (b" HTTP/1.1\r\n\r\n" if whole and where == "target" else b"\r\n\r\n" if whole else b""))
        problem = await one.refused(431, "head-too-large")
        limit = (MAX_HEADERS, "headers") if where == "lines" else (MAX_HEAD_BYTES, "bytes")
        assert (problem["limit"], problem["unit"]) == limit, "the first limit: a long read is parsed in parts"


@pytest.mark.parametrize("is_whole", [True, False])
async def test_head_with_more_headers_than_the_limit_is_431(served: Serving, is_whole: bool) -> None:
    async with raw_client(served) as one:
        one.send(GET + b"a:\r\n" * (MAX_HEADERS - 1) + b"\r\n")
        assert (await one.answer())[0] == 200
        one.send(GET + b"a:\r\n" * (MAX_HEADERS + 1) + b"\r\n" * is_whole)
        problem = await one.refused(431, "head-too-large")
        assert (problem["limit"], problem["unit"]) == (MAX_HEADERS, "headers")


async def test_head_below_the_limit_is_served_in_pieces(served: Serving) -> None:
    async with raw_client(served) as one:
        for part in (GET, b"X: ", b"x" * (MAX_HEAD_BYTES - 100), b"\r\n\r\n", GOOD):
            one.send(part)
            await one.writer.drain()
        assert (await one.answer())[0] == 200
        assert (await one.answer())[0] == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"GET /plain HTTP/9.9\r\n\r\n",
        b"GET /pl\x00ain HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
        b"CONNECT x:1 HTTP/1.1\r\n" + HOST + b"\r\n",
        GET + b"X y: z\r\n\r\n",
        GET + b"X\x00: z\r\n\r\n",
        GET + b"X: a\x00b\r\n\r\n",
        GET + b" folded\r\n\r\n",
        # What another server could read as two requests, or as one that ends elsewhere.
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        POST + b"Content-Length: 5, 5\r\n\r\nhello",
        POST + b"Content-Length: -1\r\n\r\n",
        POST + b"Content-Length: +5\r\n\r\nhello",
        POST + b"Content-Length: 0x5\r\n\r\nhello",
        POST + b"Content-Length: 99999999999999999999999\r\n\r\nhello",
        POST + b"Content-Length : 5\r\n\r\nhello",
        POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nnot hexadecimal\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nxxx\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx",
    ],
    ids=range(27),
)
async def test_invalid_http_is_400_and_closes(served: Serving, request_: bytes) -> None:
    async with raw_client(served) as one:
        one.send(request_ + GOOD)
        await one.refused(400, "bad-request")


@pytest.mark.parametrize("head", [b"G", GET, GET + b"X: y\r\n", b"POST /body HTTP/1.1\r\nContent-Le"])
async def test_slow_head_is_408(impatient: Serving, head: bytes) -> None:
    async with raw_client(impatient) as one:
        one.send(head)
        await one.refused(408, "request-timeout")


async def test_slow_second_head_is_408(impatient: Serving) -> None:
    async with raw_client(impatient) as one:
        one.send(GOOD + GET)
        assert (await one.answer())[0] == 200
        await one.refused(408, "request-timeout")


async def test_dripping_head_gets_no_more_time(impatient: Serving) -> None:
    async with raw_client(impatient) as one:
        dropping = asyncio.create_task(_drip(one, GET + b"X: " + b"x" * 1000))
        await one.refused(408, "request-timeout")
        dropping.cancel()


@pytest.mark.parametrize("framing", [b"Content-Length: 100000", b"Transfer-Encoding: chunked"])
async def test_dripping_body_is_408(impatient: Serving, framing: bytes) -> None:
    async with raw_client(impatient) as one:
        one.send(POST + framing + b"\r\n\r\n")
        dropping = asyncio.create_task(_drip(one, b"1\r\nx\r\n" * 1000 if b"chunked" in framing else b"x" * 1000))
        await one.refused(408, "request-timeout")
        dropping.cancel()


async def _drip(one: RawClient, data: bytes) -> None:
    for byte in data:
        one.send(bytes([byte]))
        await asyncio.sleep(0.02)  # a slow line, not a wait for an outcome


async def test_body_that_the_app_has_not_read_is_not_late(impatient: Serving) -> None:
    async def is_taken() -> None:
        async with raw_client(impatient) as one:
            one.send(b"POST /late HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1_000_000)
            assert (await one.answer())[2] == b"1000000"

    await again_where_paused(is_taken)  # a pause while it comes is as long as it may take


SLOW = b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n"


async def test_body_during_paused_reading_is_not_late(impatient: Serving) -> None:
    """Nothing is read while a request waits for the answer before it: longer than a body has."""

    async def is_taken() -> None:
        async with raw_client(impatient) as one:
            one.send(SLOW + POST + b"Content-Length: 400\r\n\r\n" + b"x" * 200)
            await wait_until(lambda: impatient.begun == 1, 5, "the first is in flight")
            one.send(b"x" * 200)
            assert (await one.answer())[2] == b"slow"
            assert (await one.answer())[2] == b"400"

    await again_where_paused(is_taken)


@pytest.mark.parametrize(("begun", "status"), [(b"Content-Length: 2\r\n\r\nx", 408), (CHUNKED + b"zz\r\n", 400)])
async def test_pipelined_request_with_late_body_is_refused_in_order(
    impatient: Serving, begun: bytes, status: int
) -> None:
    async with raw_client(impatient) as one:
        one.send(SLOW + SLOW + POST + begun)
        for _ in range(2):
            assert (await one.answer())[2] == b"slow"
        await one.refused(status, {408: "request-timeout", 400: "bad-request"}[status])


@pytest.mark.parametrize(
    ("trailer", "limits"),
    [
        (b"X: " + b"x" * 2_000_000, {(MAX_HEAD_BYTES, "bytes")}),
        # Whichever is passed first by what is read at once.
        (b"X: yyyy\r\n" * 200_000, {(MAX_HEAD_BYTES, "bytes"), (MAX_HEADERS, "headers")}),
    ],
    ids=["one", "many"],
)
async def test_endless_trailers_are_431(served: Serving, trailer: bytes, limits: set[tuple[int, str]]) -> None:
    async with raw_client(served) as one:
        one.send(POST + CHUNKED + b"1\r\nx\r\n0\r\n" + trailer)
        problem = await one.refused(431, "head-too-large")
        assert (problem["limit"], problem["unit"]) in limits


async def test_trailers_are_not_headers(served: Serving) -> None:
    trailers = b"Authorization: Bearer trailer\r\n" * 101
    async with raw_client(served) as one:
        one.send(b"POST /trailed HTTP/1.1\r\n" + HOST + CHUNKED + b"1\r\nx\r\n0\r\n" + trailers + b"\r\n" + GOOD)
        assert (await one.answer())[2] == b"None"
        assert (await one.answer())[2] == b"plain"


async def test_chunk_in_pieces_is_not_a_trailer(served: Serving) -> None:
    async with raw_client(served) as one:
        for part in (POST + CHUNKED + b"100000\r\n", b"x" * 0x100000 + b"\r\n", b"0\r\n", b"\r\n"):
            one.send(part)
            await one.writer.drain()
            await asyncio.sleep(0.01)  # segments of their own; however they come, the outcome is the same
        assert (await one.answer())[2] == b"1048576"


async def test_pipelined_requests_are_answered_up_to_the_limit(served: Serving) -> None:
    slow = b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n"
    async with raw_client(served) as one:
        one.send(slow + GOOD * (MAX_PIPELINED_REQUESTS + 5))
        assert (await one.answer())[2] == b"slow"
        for _ in range(MAX_PIPELINED_REQUESTS):
            assert (await one.answer())[2] == b"plain"
        assert await one.rest() == b"", "the rest is not served, and the client sees that"


async def test_invalid_http_leaves_the_answer_before_it(served: Serving) -> None:
    async with raw_client(served) as one:
        one.send(b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\nnonsense\r\n\r\n")
        status, headers, body = await one.answer()
        assert (status, headers["connection"], body) == (200, "close", b"slow")
        assert await one.rest() == b""


UNREAD = b"POST /nowhere HTTP/1.1\r\n" + HOST


@pytest.mark.parametrize("framing", [b"Content-Length: 1000000\r\n\r\nx", CHUNKED + b"1\r\nx\r\n"])
async def test_unread_body_is_not_awaited_for_long(impatient: Serving, framing: bytes) -> None:
    async with raw_client(impatient) as one:
        one.send(UNREAD + framing)
        status, headers, _ = await one.answer()
        assert (status, headers["connection"]) == (404, "close")
        assert await one.rest() == b""
        await wait_until(lambda: not impatient.connections, 5, "given up, though the peer holds on")


async def test_unread_body_that_never_ends_is_cut(impatient: Serving) -> None:
    async with raw_client(impatient) as one:
        one.send(UNREAD + b"Content-Length: 1000000\r\n\r\n")
        dropping = asyncio.create_task(_drip(one, b"x" * 10_000))
        assert (await one.answer())[0] == 404
        await wait_until(lambda: not impatient.connections, 5, "given up, though something comes")
        dropping.cancel()


async def test_unread_body_larger_than_is_discarded_is_cut(served: Serving) -> None:
    with socket.create_connection(("127.0.0.1", served.port)) as endless:
        endless.sendall(UNREAD + b"Content-Length: 1000000000000\r\n\r\n")
        sent = 0

        def send_all() -> None:
            nonlocal sent
            while True:
                sent += endless.send(BIG)

        with pytest.raises(ConnectionError):
            await asyncio.to_thread(send_all)
        assert sent > MAX_LINGER_BYTES
        assert sent < 2 * MAX_LINGER_BYTES


async def test_small_unread_body_keeps_the_connection(served: Serving) -> None:
    async with raw_client(served) as one:
        one.send(UNREAD + b"Content-Length: 3\r\n\r\nxyz" + GOOD)
        assert (await one.answer())[0] == 404
        assert (await one.answer())[0] == 200


async def test_lingering_connection_leaves_for_a_new_one() -> None:
    async with serving(make_app(), ConnectionLimiter(1)) as one_server, raw_client(one_server) as lingering:
        lingering.send(UNREAD + b"Content-Length: 1000000\r\n\r\n")
        assert (await lingering.answer())[0] == 404
        async with raw_client(one_server) as new:
            new.send(GOOD)
            assert (await new.answer())[0] == 200


async def test_upgrade_is_ignored_and_the_request_is_served(served: Serving) -> None:
    async with raw_client(served) as one:
        one.send(GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert (await one.answer())[2] == b"plain"


async def test_empty_lines_before_a_request_are_skipped(served: Serving) -> None:
    async with raw_client(served) as one:
        one.send(b"\r\n\r\n" + GOOD)
        assert (await one.answer())[0] == 200


async def test_connection_limit_evicts_the_longest_idle() -> None:
    async with serving(make_app(), ConnectionLimiter(3)) as one_server, raw_client(one_server) as busy:
        busy.send(POST + b"Content-Length: 1\r\n\r\n")
        async with raw_client(one_server) as first, raw_client(one_server) as second:
            for each in (first, second):
                each.send(GOOD)
                assert (await each.answer())[0] == 200
            async with raw_client(one_server) as new:
                new.send(GOOD)
                assert (await new.answer())[0] == 200
                assert await first.rest() == b"", "the longest idle one"
                second.send(GOOD)
                assert (await second.answer())[0] == 200
            busy.send(b"x")
            assert (await busy.answer())[2] == b"1"


async def test_connection_limit_without_idle_ones_is_503() -> None:
    async with (
        serving(make_app(), ConnectionLimiter(2)) as one_server,
        raw_client(one_server) as one,
        raw_client(one_server) as other,
    ):
        for each in (one, other):
            each.send(POST + b"Content-Length: 1\r\n\r\n")
        await wait_until(lambda: one_server.begun == 2, 5, "both are in flight")
        async with raw_client(one_server) as third:
            status, headers, body = await third.answer()
            assert (status, headers["retry-after"], json.loads(body)["code"]) == (503, "1", "overloaded")
        for each in (one, other):
            each.send(b"x")
            assert (await each.answer())[2] == b"1"


async def test_refused_connection_does_not_lose_its_503() -> None:
    """A client sends before it reads: bytes that nobody read would make the close a reset."""
    async with serving(make_app(), ConnectionLimiter(1)) as server, raw_client(server) as one:
        one.send(POST + b"Content-Length: 1\r\n\r\n")
        await wait_until(lambda: server.begun == 1, 5, "it is in flight")
        for _ in range(20):
            async with raw_client(server) as refused:
                refused.send(POST + b"Content-Length: 200000\r\n\r\n")
                refused.send(b"x" * 200_000)
                assert (await refused.answer())[0] == 503
        assert len(server.limiter.refused) <= MAX_HELD_REFUSED
        one.send(b"x")
        assert (await one.answer())[2] == b"1"
        await wait_until(lambda: not server.limiter.refused, 5, "they are closed")
        assert server.limiter.open_count == 1


async def test_held_refused_connections_are_bounded() -> None:
    async with serving(make_app(), ConnectionLimiter(1)) as server, raw_client(server) as one:
        one.send(POST + b"Content-Length: 1\r\n\r\n")
        await wait_until(lambda: server.begun == 1, 5, "it is in flight")
        with ExitStack() as held:
            for _ in range(MAX_HELD_REFUSED + 20):
                held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                assert len(server.limiter.refused) <= MAX_HELD_REFUSED


async def test_empty_line_between_requests_leaves_connection_idle() -> None:
    async with (
        serving(make_app(), ConnectionLimiter(2, PeerTimeouts(head=0.1))) as server,
        raw_client(server) as client,
    ):
        client.send(GOOD)
        assert (await client.answer())[0] == 200
        client.send(b"\r\n")
        await wait_until(lambda: server.limiter.idle, 5, "it is idle")
        await asyncio.sleep(0.3)  # three times what a head may take
        client.send(GOOD)
        assert (await client.answer())[0] == 200, "and no 408 came before"


async def test_connection_limit_evicts_idle_ones_with_unread_answers() -> None:
    async with serving(make_app(), ConnectionLimiter(3)) as one_server:
        with ExitStack() as held:
            for _ in range(10):
                still = held.enter_context(socket.create_connection(("127.0.0.1", one_server.port)))
                still.sendall(b"GET /big HTTP/1.1\r\n" + HOST + b"\r\n")
                await wait_until(lambda: one_server.limiter.idle and one_server.connections <= 3, 5, "within the bound")
            async with raw_client(one_server) as new:
                new.send(GOOD)
                assert (await new.answer())[0] == 200
                await wait_until(lambda: one_server.connections == 3, 5, "the newest")


async def test_connection_limit_evicts_pipelined_unread_answers() -> None:
    """The second answer waits for the reader of the first, so its connection is as idle as one without a request."""
    async with serving(make_app(), ConnectionLimiter(3)) as one_server:
        with ExitStack() as held:
            for number in range(3):
                still = held.enter_context(socket.create_connection(("127.0.0.1", one_server.port)))
                still.sendall((b"GET /big HTTP/1.1\r\n" + HOST + b"\r\n") * 2)
                await wait_until(lambda count=number + 1: len(one_server.limiter.idle) == count, 5, "it is known")
            async with raw_client(one_server) as new:
                new.send(GOOD)
                assert (await new.answer())[0] == 200


async def test_connection_whose_answer_is_not_read_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining_server, "KEEP_ALIVE_TIMEOUT_SECONDS", 1)
    async with serving(make_app()) as one_server:
        with socket.create_connection(("127.0.0.1", one_server.port)) as still:
            still.sendall(
                (b"GET /big HTTP/1.1\r\n" + HOST + b"\r\n") * 2 + POST + b"Content-Length: 9\r\n\r\n123456789"
            )
            await wait_until(lambda: one_server.connections == 1, 5, "it is open")
            await wait_until(lambda: not one_server.connections and not one_server.begun, 60, "it is closed")


async def test_reader_that_goes_on_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining_server, "KEEP_ALIVE_TIMEOUT_SECONDS", 3600)
    async with serving(make_app()) as one_server, raw_client(one_server) as one:
        one.send(b"GET /big HTTP/1.1\r\n" + HOST + b"\r\n" + SLOW)
        await wait_until(lambda: one_server.limiter.idle, 5, "it waits for its reader")
        assert len((await one.answer(60))[2]) == len(BIG)
        assert (await one.answer())[2] == b"slow"
        await wait_until(lambda: one_server.limiter.idle, 5, "it is idle")
        one.send(GOOD)
        assert (await one.answer())[2] == b"plain"


async def test_two_sockets_share_one_connection_limit() -> None:
    limiter = ConnectionLimiter(1)
    async with serving(make_app(), limiter) as one, serving(make_app(), limiter) as other, raw_client(one) as first:
        first.send(POST + b"Content-Length: 1\r\n\r\n")
        await wait_until(lambda: one.begun == 1, 5, "it is in flight")
        async with raw_client(other) as second:
            assert (await second.answer())[0] == 503
        first.send(b"x")
        assert (await first.answer())[0] == 200


async def test_body_is_called_whole_once_it_has_come(served: Serving) -> None:
    async with raw_client(served) as client:
        head = b"POST /whole HTTP/1.1\r\n" + HOST
        client.send(head + b"Content-Length: 2\r\n\r\nab")
        assert (await client.answer())[2] == b"True True"
        client.send(head + b"Expect: 100-continue\r\n" + CHUNKED)
        await client.reader.readuntil(b"100 Continue\r\n\r\n")
        client.send(b"1\r\na\r\n0\r\n\r\n")
        assert (await client.answer())[2] == b"False True"
