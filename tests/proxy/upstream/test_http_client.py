"""Calls and their connections: deadlines, cancellation, reuse, large bodies, addresses, TLS."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from pathlib import Path
from subprocess import DEVNULL

import pytest

from proxy.upstream import http_client
from proxy.upstream.http_client import IDLE_SECONDS
from proxy.upstream.response_classifier import BrokenAnswerError, ConnectTimeoutError, SilentError, UnreachableError
from tests.proxy.upstream.callers import CHUNKED, HEAD, Caller, Callers, Script, ask, chunk
from tests.proxy.upstream.wire_server import OK, Peer, answer_all, answering, ending, wire_server
from tests.support.waiting import wait_until


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
        call = caller.begin()
        if is_connected:
            await wait_until(lambda: server.connections, 5, "it is connected")
        assert call.is_open
        call.abandon(KeyError())
        assert not call.is_open
        call.abandon(ValueError())
        with pytest.raises(KeyError):
            await call
        await wait_until(lambda: server.closed_by_client == server.connections, 5, "the connection was closed")
        assert not caller.endpoint.idle


async def test_abandon_after_the_answer_does_nothing(callers: Callers) -> None:
    async with wire_server(answer_all) as server:
        caller = callers(server.url)
        call = caller.begin()
        assert (await call).body == b"{}"
        call.abandon(KeyError())
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
        calls = [caller.begin() for _ in range(5)]
        await wait_until(lambda: server.connections == 5, 5, "all are connected")
        ready.set()
        for call in calls:
            assert (await call).status == 200
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
        calls = [caller.begin() for _ in range(3)]
        for call in calls:
            await call
        caller.endpoint.idle[0].idle_since -= 1
        caller.endpoint.close_idle(unused_since=caller.endpoint.idle[1].idle_since)
        await wait_until(lambda: server.closed_by_client == 1, 5, "the old one was closed")
        assert (len(caller.endpoint.idle), caller.endpoint.max_idle > 0) == (2, True)


async def test_busy_connection_is_kept_when_old_ones_are_closed(callers: Callers) -> None:
    async with wire_server(answer_all) as server:
        caller = callers(server.url)
        call = caller.begin()
        caller.endpoint.close_idle(unused_since=caller.endpoint.used_at)
        assert (await call).status == 200
        assert len(caller.endpoint.idle) == 1


async def test_endpoint_without_connections_keeps_none(callers: Callers) -> None:
    async with wire_server(answer_all) as server:
        caller = callers(server.url)
        call = caller.begin()
        caller.endpoint.close_idle()
        assert (await call).status == 200
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
        http_client.tls_context.cache_clear()
        with pytest.raises(UnreachableError, match="certificate verify failed"):
            await callers(server.url).begin()  # trusted, but not under this name
        caller = callers(url)
        for _ in range(2):
            assert (await caller.begin(b"x" * 1_000_000)).status == 200
        assert server.connections == 1
    http_client.tls_context.cache_clear()
