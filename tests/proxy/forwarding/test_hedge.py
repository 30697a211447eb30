"""The wait that others can end, and the second attempt that ends it."""

from __future__ import annotations

import asyncio

import pytest

from proxy.forwarding.hedge import CancellableWait, Hedge, HedgeWonError, ReplicaLostError
from shared.protocol.errors import RelayedError, ReplicaFailedError
from tests.support.waiting import wait_until

NEVER = 60.0


async def answer(result: bytes | Exception) -> bytes:
    if isinstance(result, Exception):
        raise result
    return result


async def wait_in(wait: CancellableWait) -> None:
    async with wait:
        await asyncio.sleep(NEVER)


async def test_wait_raises_the_first_reason() -> None:
    wait = CancellableWait()

    async def waiting() -> None:
        async with wait:
            wait.end(ReplicaLostError())
            wait.end(HedgeWonError())
            assert not wait.lasts
            await asyncio.sleep(NEVER)

    with pytest.raises(ReplicaLostError):
        await waiting()


async def test_wait_that_has_not_begun_cannot_be_ended() -> None:
    wait = CancellableWait()
    wait.end(HedgeWonError())
    async with wait:
        assert wait.lasts
    wait.end(HedgeWonError())
    assert not wait.lasts


async def test_wait_passes_other_errors_on() -> None:
    with pytest.raises(KeyError):
        async with CancellableWait():
            raise KeyError


@pytest.mark.parametrize(
    "result",
    [b"{}", RelayedError(code="too-large", http_status=413, title="t", detail="d", facts={})],
)
async def test_hedge_that_is_answered_ends_the_first_wait(result: bytes | Exception) -> None:
    wait = CancellableWait()
    with Hedge(0, lambda: asyncio.create_task(answer(result)), wait) as hedge:
        with pytest.raises(HedgeWonError):
            await wait_in(wait)
        assert hedge.second is not None
        assert hedge.second.done()


async def test_hedge_that_fails_leaves_the_first_wait() -> None:
    wait = CancellableWait()
    with Hedge(0, lambda: asyncio.create_task(answer(ReplicaFailedError("x"))), wait) as hedge:
        async with wait:
            await wait_until(lambda: hedge.second is not None and hedge.second.done(), 3, "the hedge has failed")
            assert wait.lasts
    assert hedge.second is not None
    assert isinstance(hedge.second.exception(), ReplicaFailedError)


async def test_hedge_before_its_delay_never_begins() -> None:
    begun: list[None] = []
    with Hedge(0.001, lambda: begun.append(None), CancellableWait()):
        pass
    await asyncio.sleep(0.002)
    assert not begun


async def test_running_hedge_is_cancelled_at_the_end_of_the_block() -> None:
    with Hedge(0, lambda: asyncio.create_task(asyncio.sleep(NEVER, b"")), CancellableWait()) as hedge:
        await wait_until(lambda: hedge.second is not None, 3, "the hedge has begun")
    assert hedge.second is not None
    await asyncio.wait({hedge.second})
    assert hedge.second.cancelled()
