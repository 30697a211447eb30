"""Streams of deltas from scripted servers on real sockets."""

from __future__ import annotations

import asyncio

import pytest

from proxy.upstream.errors import BrokenAnswerError
from proxy.upstream.stream_reader import StreamReader
from tests.proxy.upstream.callers import EVENTS, RESULT, Callers, chunk, delta
from tests.proxy.upstream.wire_server import Peer, answering, ending, wire_server
from tests.support.waiting import wait_until


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


@pytest.mark.parametrize("last", [b"0\r\n\r\n", b"", b"zz", chunk(b"event: error\ndata: 7\n\n")])
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
