"""Addresses; answers, whole and broken, from scripted servers: slow, cut, chunked, pipelined, oversized."""

from __future__ import annotations

import pytest

from proxy.upstream.http_client import MAX_HEAD_BYTES, address_of, header_value
from proxy.upstream.response_classifier import BrokenAnswerError, UnreachableError
from proxy.upstream.stream_reader import StreamReader
from tests.proxy.upstream.callers import CHUNKED, EVENTS, HEAD, LIMIT, Callers, Script, ask, chunk
from tests.proxy.upstream.wire_server import OK, Peer, answering, ending, wire_server
from tests.support.waiting import wait_until


@pytest.mark.parametrize(
    ("url", "host", "port", "named"),
    [
        ("http://replica:8101", "replica", 8101, "replica:8101"),
        ("http://replica", "replica", 80, "replica"),
        ("https://replica", "replica", 443, "replica"),
        ("http://[::1]:8101", "::1", 8101, "[::1]:8101"),
    ],
)
def test_url_gives_host_port_and_host_header(url: str, host: str, port: int, named: str) -> None:
    address = address_of(url, "Authorization: x\r\n")
    assert (address.host, address.port, address.tls is not None) == (host, port, url.startswith("https"))
    program = "Sec-Pairway-Proxy: 1\r\n"
    assert address.headers == f"Host: {named}\r\nAccept-Encoding: identity\r\n{program}Authorization: x\r\n"


@pytest.mark.parametrize("url", ["http://replica:0x1", "http://replica:99999", "http://[::1"])
def test_no_url_is_unreachable(url: str) -> None:
    with pytest.raises(UnreachableError):
        address_of(url, "")


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\rb", "a\0b", "a\x7fb", "ä", "a\u2028b", "a\tb"])
def test_header_value_cannot_end_its_header(value: str) -> None:
    with pytest.raises(ValueError, match="cannot be a header's value"):
        header_value(value)
    assert header_value("Bearer a-b_c.d/e+f=") == "Bearer a-b_c.d/e+f="


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
        [HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"],
        [HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", chunk(b"{}"), b"0\r\n\r\n"],
    ],
)
async def test_answer_that_is_cut_or_none_is_broken(callers: Callers, parts: list[bytes]) -> None:
    with pytest.raises(BrokenAnswerError):
        await ask(callers, ending(*parts))


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
