"""The second attempt, and how it ends the first one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from proxy.forwarding.hedge import Hedge, HedgeWonError
from proxy.upstream.address import address_of
from proxy.upstream.http_client import Endpoint, Exchange
from shared.protocol.errors import RelayedError, ReplicaFailedError
from tests.proxy.upstream.wire_server import answering, wire_server
from tests.support.waiting import wait_until

NEVER = 60.0


async def answer(result: bytes | Exception) -> bytes:
    if isinstance(result, Exception):
        raise result
    return result


@pytest.fixture
async def silent() -> AsyncGenerator[Exchange]:
    """An exchange with a replica that never answers."""
    async with wire_server(answering(b"")) as server:
        exchange = Exchange(Endpoint(address_of(server.url, ""), NEVER), b"GET / HTTP/1.1\r\n\r\n", NEVER, 1000)
        yield exchange
        exchange.abandon(HedgeWonError())
        with pytest.raises(HedgeWonError):
            await exchange


@pytest.mark.parametrize(
    "result",
    [b"{}", RelayedError(code="too-large", http_status=413, title="t", detail="d", facts={})],
)
async def test_hedge_that_is_answered_ends_the_first_attempt(silent: Exchange, result: bytes | Exception) -> None:
    with Hedge(0, lambda: asyncio.create_task(answer(result))) as hedge:
        hedge.first = silent
        with pytest.raises(HedgeWonError):
            await silent
        assert hedge.second is not None
        assert hedge.second.done()


async def test_hedge_answered_before_the_first_began_ends_nothing() -> None:
    with Hedge(0, lambda: asyncio.create_task(answer(b"{}"))) as hedge:
        await wait_until(lambda: hedge.second is not None and hedge.second.done(), 3, "the hedge was answered")
    assert hedge.first is None


async def test_hedge_that_fails_leaves_the_first_attempt(silent: Exchange) -> None:
    with Hedge(0, lambda: asyncio.create_task(answer(ReplicaFailedError("x")))) as hedge:
        hedge.first = silent
        await wait_until(lambda: hedge.second is not None and hedge.second.done(), 3, "the hedge has failed")
        await asyncio.sleep(0)
        assert silent.is_open
    assert hedge.second is not None
    assert isinstance(hedge.second.exception(), ReplicaFailedError)


async def test_hedge_before_its_delay_never_begins() -> None:
    begun: list[None] = []
    with Hedge(0.001, lambda: begun.append(None)):
        pass
    await asyncio.sleep(0.002)
    assert not begun


async def test_running_hedge_is_cancelled_at_the_end_of_the_block() -> None:
    with Hedge(0, lambda: asyncio.create_task(asyncio.sleep(NEVER, b""))) as hedge:
        await wait_until(lambda: hedge.second is not None, 3, "the hedge has begun")
    assert hedge.second is not None
    await asyncio.wait({hedge.second})
    assert hedge.second.cancelled()
