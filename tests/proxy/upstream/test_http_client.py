"""The HTTP client against scripted servers on real sockets: slow, cut, chunked, pipelined, oversized, silent."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from subprocess import DEVNULL

import pytest

from proxy.upstream import address
from proxy.upstream.address import address_of
from proxy.upstream.answer_parser import MAX_HEAD_BYTES
from proxy.upstream.errors import BrokenAnswerError, ConnectTimeoutError, SilentError, UnreachableError
from proxy.upstream.http_client import IDLE_SECONDS, Endpoint, Exchange
from proxy.upstream.response_classifier import ReplicaResponse
from proxy.upstream.stream_reader import StreamReader
from tests.proxy.upstream.wire_server import OK, Peer, answer_all, answering, ending, wire_server
from tests.support.waiting import wait_until

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
    ) -> Exchange:
        head = f"POST / HTTP/1.1\r\n{self.endpoint.address.headers}Content-Length: {len(body)}\r\n\r\n".encode()
        return Exchange(self.endpoint, head + body, seconds, limit, reader=reader, is_repeatable=is_repeatable)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(index: int, text: str) -> bytes:
    return chunk(b'event: delta\ndata: {"index": %d, "text": "%s"}\n\n' % (index, text.encode()))


@pytest.fixture
async def callers() -> AsyncGenerator[Callable[[str], Caller]]:
    begun: list[Caller] = []

    def make(url: str) -> Caller:
        begun.append(Caller(url))
        return begun[-1]

    yield make
    for caller in begun:
        caller.endpoint.close_idle()
    await asyncio.sleep(0)


Script = Callable[[Peer], Awaitable[None]]
Callers = Callable[[str], Caller]


async def ask(callers: Callers, script: Script, *, limit: int = LIMIT) -> tuple[ReplicaResponse, int]:
    """Return the answer, and how many connections can be used again after it."""
    async with wire_server(script) as server:
        caller = callers(server.url)
        response = await caller.begin(limit=limit)
        return response, len(caller.endpoint.idle)


@pytest.mark.parametrize(
    ("parts", "body"),
    [
        ([OK], b"{}"),
        ([OK[n : n + 1] for n in range(len(OK))], b"{}"),
        ([HEAD + b"Content-Length: 0\r\n\r\n"], b""),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
        ([CHUNKED, chunk(b"ab"), chunk(b"cd"), b"0\r\n\r\n"], b"abcd"),
        ([CHUNKED + b"2;name=value\r\nab\r\n0\r\nRetry-After: 7\r\nTrailer: x\r\n\r\n"], b"ab"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Hints\r\nContent-Length: 9\r\n\r\n" + OK], b"{}"),
    ],
)
async def test_whole_answer_leaves_connection_for_next(callers: Callers, parts: list[bytes], body: bytes) -> None:
    async with wire_server(answering(*parts)) as server:
        caller = callers(server.url)
        for _ in range(3):
            assert (await caller.begin()).body == body
        assert (server.connections, len(caller.endpoint.idle)) == (1, 1)


async def test_retry_after_is_seconds_or_nothing(callers: Callers) -> None:
    for value, seconds in ((b"7", 7.0), (b"Wed, 21 Oct 2026 07:28:00 GMT", None), (b"-1", None)):
        response, _ = await ask(callers, answering(HEAD + b"Retry-After: %s\r\nContent-Length: 0\r\n\r\n" % value))
        assert response.retry_after == seconds


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
        OK + OK,
        OK + b"x",
        OK + b"HTTP/1.1 200 OK\r\nTransfer-Enc",
        HEAD + b"Content-Length: 2\r\n\r\n{} and more",
    ],
)
async def test_connection_is_not_reused_after(callers: Callers, answer: bytes) -> None:
    async with wire_server(answering(answer)) as server:
        caller = callers(server.url)
        for number in (1, 2, 3):
            response = await caller.begin()
            assert (response.status, response.body) == (200, b"{}")
            assert server.connections == number
            assert not caller.endpoint.idle
        await wait_until(lambda: server.closed_by_client == 3, 5, "the connections were closed")


@pytest.mark.parametrize(
    "answer", [HEAD + b"\r\n{}", HEAD + b"Connection: close\r\n\r\n{}", b"HTTP/1.0 200 OK\r\n\r\n{}"]
)
async def test_body_may_end_with_its_connection(callers: Callers, answer: bytes) -> None:
    response, idle = await ask(callers, ending(answer))
    assert (response.body, idle) == (b"{}", 0)


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"HTTP/1.1 200"],
        [HEAD + b"Content-Len"],
        [b"HTTP/1.1 100 Continue\r\n\r\n"],
        [HEAD + b"Content-Length: 3\r\n\r\n{}"],
        [CHUNKED],
        [CHUNKED, b"5\r\nab"],
        [CHUNKED, chunk(b"ab")],
        [CHUNKED, chunk(b"ab"), b"0\r\n"],
        [CHUNKED, b"no number\r\n"],
        [b"what is this?\r\n\r\n"],
        [b"HTTP/2 200\r\n\r\n"],
        [b"HTTP/1.1 99999 OK\r\n\r\n"],
        [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"],
        [HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"],
        [HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"],
        [HEAD + b"Content-Length: -2\r\n\r\n{}"],
        [HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n{}"],
    ],
)
async def test_answer_that_is_cut_or_none_is_broken(callers: Callers, parts: list[bytes]) -> None:
    with pytest.raises(BrokenAnswerError):
        await ask(callers, ending(*parts))


@pytest.mark.parametrize("before", [b"", HEAD, HEAD + b"\r\n{}", CHUNKED + b"5\r\nab"])
async def test_reset_is_broken_answer(callers: Callers, before: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(before)
        peer.reset()

    with pytest.raises(BrokenAnswerError):
        await ask(callers, script)


async def test_connection_that_is_closed_at_once_is_broken_answer(callers: Callers) -> None:
    async def script(peer: Peer) -> None:
        peer.reset()

    with pytest.raises((BrokenAnswerError, UnreachableError)):
        await ask(callers, script)


def endless(first: bytes, part: bytes) -> Script:
    """Return a script that answers without end."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(first)
        while True:
            await peer.send(part)

    return script


@pytest.mark.parametrize(
    ("first", "part"),
    [
        (HEAD + b"X: ", b"x" * 1000),
        (HEAD, b"X: y\r\n" * 100),
        (b"", b"HTTP/1.1 103 Hints\r\n\r\n" * 10),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (LIMIT + 1), b"x"),
        (HEAD + b"\r\n", b"x" * 1000),
        (CHUNKED, chunk(b"x" * 1000)),
        (CHUNKED + b"1;", b"x" * 1000),
        (CHUNKED + b"0\r\nTrailer: ", b"x" * 1000),
        (EVENTS, chunk(b": a comment\n")),
    ],
)
async def test_oversized_answer_is_broken(callers: Callers, first: bytes, part: bytes) -> None:
    async with wire_server(endless(first, part)) as server:
        caller = callers(server.url)
        with pytest.raises(BrokenAnswerError, match="more than"):
            await caller.begin(reader=StreamReader(lambda _, __: None))
        await wait_until(lambda: server.closed_by_client == 1, 5, "the connection was closed")


async def test_answer_of_just_the_limit_is_taken(callers: Callers) -> None:
    head = HEAD + b"Content-Length: 50000\r\n\r\n"
    response, idle = await ask(callers, answering(head, b"x" * 50_000), limit=len(head) + 50_000)
    assert (len(response.body), idle) == (50_000, 1)
    assert MAX_HEAD_BYTES < LIMIT


async def test_silent_server_is_left_at_the_deadline(callers: Callers) -> None:
    for parts in ([b""], [HEAD], [CHUNKED + chunk(b"ab")]):
        async with wire_server(answering(*parts)) as server:
            with pytest.raises(SilentError):
                await callers(server.url).begin(seconds=0.1)
            await wait_until(lambda server=server: server.closed_by_client == 1, 5, "the connection was closed")


async def test_no_connection_in_time_is_connect_timeout() -> None:
    async with wire_server(answer_all) as server:
        with pytest.raises(ConnectTimeoutError):
            await Caller(server.url, connect_timeout=0.0).begin()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://a..b:1", "http://nobody.invalid:1", "https://127.0.0.1:1"]
)
async def test_nothing_there_is_unreachable(callers: Callers, url: str) -> None:
    with pytest.raises(UnreachableError):
        await callers(url).begin()


async def test_cancelling_closes_the_connection(callers: Callers) -> None:
    async with wire_server(answering(b"")) as server:
        caller = callers(server.url)
        task = asyncio.ensure_future(caller.begin())
        await wait_until(lambda: server.connections, 5, "it is connected")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_until(lambda: server.closed_by_client == 1, 5, "the connection was closed")
        assert not caller.endpoint.idle


@pytest.mark.parametrize("is_connected", [True, False])
async def test_abandon_raises_the_first_error(callers: Callers, *, is_connected: bool) -> None:
    async with wire_server(answering(b"")) as server:
        caller = callers(server.url)
        exchange = caller.begin()
        if is_connected:
            await wait_until(lambda: server.connections, 5, "it is connected")
        assert exchange.is_open
        exchange.abandon(KeyError())
        assert not exchange.is_open
        exchange.abandon(ValueError())
        with pytest.raises(KeyError):
            await exchange
        await wait_until(lambda: server.closed_by_client == server.connections, 5, "the connection was closed")
        assert not caller.endpoint.idle


async def test_abandon_after_the_answer_does_nothing(callers: Callers) -> None:
    async with wire_server(answer_all) as server:
        caller = callers(server.url)
        exchange = caller.begin()
        assert (await exchange).body == b"{}"
        exchange.abandon(KeyError())
        assert (await caller.begin()).body == b"{}"
        assert server.connections == 1


async def test_connections_at_once_are_kept_up_to_a_bound(callers: Callers) -> None:
    ready = asyncio.Event()

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            await ready.wait()
            await peer.send(OK)

    async with wire_server(script) as server:
        caller = callers(server.url)
        caller.endpoint.max_idle = 3
        exchanges = [caller.begin() for _ in range(5)]
        await wait_until(lambda: server.connections == 5, 5, "all are connected")
        ready.set()
        for exchange in exchanges:
            assert (await exchange).status == 200
        assert len(caller.endpoint.idle) == 3
        await wait_until(lambda: server.closed_by_client == 2, 5, "those above the bound were closed")


async def test_idle_connection_is_not_used_when_old(callers: Callers) -> None:
    async with wire_server(answer_all) as server:
        caller = callers(server.url)
        await caller.begin()
        caller.endpoint.idle[0].idle_since -= IDLE_SECONDS
        await caller.begin()
        assert (server.connections, len(caller.endpoint.idle)) == (2, 1)
        await wait_until(lambda: server.closed_by_client == 1, 5, "the old one was closed")


async def test_idle_connections_are_closed_when_old(callers: Callers) -> None:
    async with wire_server(answer_all) as server:
        caller = callers(server.url)
        exchanges = [caller.begin() for _ in range(3)]
        for exchange in exchanges:
            await exchange
        caller.endpoint.idle[0].idle_since -= 1
        caller.endpoint.close_idle(unused_since=caller.endpoint.idle[1].idle_since)
        await wait_until(lambda: server.closed_by_client == 1, 5, "the old one was closed")
        assert (len(caller.endpoint.idle), caller.endpoint.max_idle > 0) == (2, True)


async def test_busy_connection_is_kept_when_old_ones_are_closed(callers: Callers) -> None:
    async with wire_server(answer_all) as server:
        caller = callers(server.url)
        exchange = caller.begin()
        caller.endpoint.close_idle(unused_since=caller.endpoint.used_at)
        assert (await exchange).status == 200
        assert len(caller.endpoint.idle) == 1


async def test_endpoint_without_connections_keeps_none(callers: Callers) -> None:
    async with wire_server(answer_all) as server:
        caller = callers(server.url)
        exchange = caller.begin()
        caller.endpoint.close_idle()
        assert (await exchange).status == 200
        assert not caller.endpoint.idle


@pytest.mark.parametrize("last", [b"", b"x", OK])
async def test_idle_connection_that_ends_or_speaks_is_dropped(callers: Callers, last: bytes) -> None:
    ready = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK)
        await ready.wait()
        await peer.send(last)
        if last:
            await peer.ended()

    async with wire_server(script) as server:
        caller = callers(server.url)
        await caller.begin()
        assert len(caller.endpoint.idle) == 1
        ready.set()
        await wait_until(lambda: not caller.endpoint.idle, 5, "it was dropped")
        assert (await caller.begin()).status == 200
        assert server.connections == 2


def dying(requests: int) -> Script:
    """Return a script that closes the first connection under its second request, unread."""
    numbers = itertools.count(1)

    async def script(peer: Peer) -> None:
        is_first = next(numbers) == 1
        await peer.request()
        await peer.send(OK)
        for _ in range(0 if is_first else requests):
            await peer.request()
            await peer.send(OK)
        await peer.request()

    return script


async def test_kept_connection_that_dies_breaks_the_request(callers: Callers) -> None:
    async with wire_server(dying(0)) as server:
        caller = callers(server.url)
        await caller.begin()
        with pytest.raises(BrokenAnswerError):
            await caller.begin()
        assert server.connections == 1


async def test_repeatable_request_goes_on_new_connection(callers: Callers) -> None:
    async with wire_server(dying(1)) as server:
        caller = callers(server.url)
        await caller.begin()
        assert (await caller.begin(is_repeatable=True)).status == 200
        assert server.connections == 2


async def test_new_connection_that_dies_is_not_repeated(callers: Callers) -> None:
    async with wire_server(ending()) as server:
        with pytest.raises(BrokenAnswerError):
            await callers(server.url).begin(is_repeatable=True)
        assert server.connections == 1


async def test_huge_body_is_sent_to_a_slow_reader(callers: Callers) -> None:
    sizes: list[int] = []

    async def script(peer: Peer) -> None:
        while True:
            sizes.append(len(await peer.request()))
            await peer.send(OK)

    async with wire_server(script) as server:
        caller = callers(server.url)
        body = bytes(range(256)) * 65_536
        for _ in range(2):
            assert (await caller.begin(body)).status == 200
        assert min(sizes) > len(body)
        assert server.connections == 1


async def test_answer_before_the_request_was_sent_whole(callers: Callers) -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(OK.replace(b"200", b"413"))
        await asyncio.sleep(0.1)  # it reads no more for a while
        await peer.ended()

    async with wire_server(script) as server:
        caller = callers(server.url)
        assert (await caller.begin(b"x" * 50_000_000)).status == 413
        assert not caller.endpoint.idle


async def test_ipv6_address_is_reached(callers: Callers) -> None:
    async with wire_server(answer_all, host="::1") as server:
        assert (await callers(server.url).begin()).status == 200


async def test_tls_server_must_be_trusted(callers: Callers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
    ]
    process = await asyncio.create_subprocess_exec(*command, "-keyout", key, "-out", certificate, stderr=DEVNULL)
    assert await process.wait() == 0
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, key)
    async with wire_server(answer_all, tls=server_side) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        with pytest.raises(UnreachableError, match="certificate verify failed"):
            await callers(url).begin()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        address.tls_context.cache_clear()
        with pytest.raises(UnreachableError, match="certificate verify failed"):
            await callers(server.url).begin()  # trusted, but not under this name
        caller = callers(url)
        for _ in range(2):
            assert (await caller.begin(b"x" * 1_000_000)).status == 200
        assert server.connections == 1
    address.tls_context.cache_clear()


class Deltas(list[tuple[int, str]]):
    """What a reader passed on."""

    def reader(self) -> StreamReader:
        return StreamReader(lambda index, text: self.append((index, text)))


async def test_stream_is_passed_on_as_it_comes(callers: Callers) -> None:
    deltas, ready = Deltas(), asyncio.Event()

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(EVENTS, delta(0, "a"))
            await ready.wait()
            await peer.send(delta(1, "b"), chunk(RESULT) + b"0\r\n\r\n")

    async with wire_server(script) as server:
        caller = callers(server.url)
        task = asyncio.ensure_future(caller.begin(reader=deltas.reader()))
        await wait_until(lambda: deltas == [(0, "a")], 5, "the first delta is there")
        ready.set()
        response = await task
        assert (response.status, response.body) == (200, b"{}")
        assert deltas == [(0, "a"), (1, "b")]
        assert (await caller.begin(reader=Deltas().reader())).status == 200
        assert server.connections == 1


@pytest.mark.parametrize("last", [b"0\r\n\r\n", b"", b"zz"])
async def test_stream_without_result_is_broken(callers: Callers, last: bytes) -> None:
    deltas = Deltas()
    async with wire_server(ending(EVENTS, delta(0, "a"), last)) as server:
        with pytest.raises(BrokenAnswerError):
            await callers(server.url).begin(reader=deltas.reader())
    assert deltas == [(0, "a")]


async def test_result_counts_whatever_comes_after(callers: Callers) -> None:
    async with wire_server(answering(EVENTS, delta(0, "a"), chunk(RESULT) + b"nonsense")) as server:
        caller = callers(server.url)
        assert (await caller.begin(reader=Deltas().reader())).body == b"{}"
        assert not caller.endpoint.idle


async def test_error_of_the_callback_ends_the_stream(callers: Callers) -> None:
    def refuse(index: int, text: str) -> None:
        raise LookupError(text, index)

    async with wire_server(answering(EVENTS, delta(0, "a"))) as server:
        with pytest.raises(LookupError):
            await callers(server.url).begin(reader=StreamReader(refuse))
        await wait_until(lambda: server.closed_by_client == 1, 5, "the connection was closed")


async def test_reader_gets_an_answer_that_does_not_stream(callers: Callers) -> None:
    body = b'{"translation": "x", "source_lang": "en", "target_lang": "de", "model": null, "route": []}'
    for status, got in ((200, [(0, "x")]), (503, [])):
        deltas = Deltas()
        answer = b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)
        async with wire_server(answering(answer)) as server:
            assert (await callers(server.url).begin(reader=deltas.reader())).body == body
        assert deltas == got
