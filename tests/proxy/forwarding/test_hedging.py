"""Hedging: when a second attempt begins, what it costs, and how it ends the first one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from proxy.balancing.local_stats import FIRST_LATE_SECONDS, RECENT, SAMPLES
from proxy.forwarding.hedging import (
    HEDGE_BURST,
    HEDGE_SHARE,
    SHORTEST_DELAY_SECONDS,
    Hedge,
    HedgeWonError,
)
from proxy.upstream.http_client import Endpoint, UpstreamCall, address_of
from shared.protocol.errors import RelayedError, ReplicaFailedError
from tests.proxy.forwarding.policies import FLEET, Setup
from tests.proxy.samples import replica, snapshot
from tests.proxy.upstream.wire_server import answering, wire_server
from tests.support.waiting import wait_until


def test_hedge_goes_to_another_replica_and_is_paid() -> None:
    setup = Setup()
    progress = setup.progress()
    first = setup.policy.begin(progress, FLEET)
    progress.tried_urls.add(first.url)
    left = setup.budget.left
    hedge = setup.hedging.begin(first, progress, FLEET)
    assert hedge is not None
    assert hedge.url != first.url
    assert setup.budget.left == left - 1


def test_hedge_is_refused_without_budget_or_attempts() -> None:
    setup = Setup()
    progress = setup.progress()
    first = setup.policy.begin(progress, FLEET)
    progress.tried_urls |= {first.url}
    setup.spend()
    assert setup.hedging.begin(first, progress, FLEET) is None
    progress.tried_urls |= {"a", "b"}
    assert setup.hedging.begin(first, progress, FLEET) is None


def test_hedge_refused_by_the_budget_costs_its_model_nothing() -> None:
    setup = Setup()
    progress = setup.progress()
    first = setup.policy.begin(progress, FLEET)
    progress.tried_urls.add(first.url)
    setup.spend()
    assert setup.hedging.begin(first, progress, FLEET) is None
    assert setup.latency.hedge_debt == 0


def test_hedge_delay_is_none_where_no_hedge_may_begin() -> None:
    setup = Setup()
    progress = setup.progress()
    first = setup.policy.begin(progress, FLEET)
    assert setup.hedging.delay(first, progress, FLEET) is not None
    assert setup.hedging.delay(first, setup.progress(streams=True), FLEET) is None
    assert setup.hedging.delay(first, setup.progress(seconds=0.001), FLEET) is None
    assert setup.hedging.delay(first, progress, snapshot(replica(first.url, "en>de"))) is None
    assert Setup(max_attempts=1).hedging.delay(first, progress, FLEET) is None


def hedged(setup: Setup, count: int) -> int:
    """Ask for so many hedges; return how many began."""
    began = 0
    for _ in range(count):
        progress = setup.progress()
        first = setup.policy.begin(progress, FLEET)
        setup.clock.now += 1  # the budget has ten hedges for each second
        began += setup.hedging.begin(first, progress, FLEET) is not None
    return began


def earn(setup: Setup, count: int) -> None:
    first = setup.policy.begin(setup.progress(), FLEET)
    for _ in range(count):
        setup.hedging.earn(first)


def test_hedges_stay_within_their_share() -> None:
    setup = Setup()
    assert hedged(setup, 20) == HEDGE_BURST
    earn(setup, int(1 / HEDGE_SHARE) - 2)
    assert hedged(setup, 1) == 0
    earn(setup, 4)
    assert hedged(setup, 2) == 1


def test_earned_hedges_are_bounded_by_the_burst() -> None:
    setup = Setup()
    earn(setup, 1000)
    assert hedged(setup, 20) == HEDGE_BURST


def test_delay_grows_with_the_work_and_has_a_lower_bound() -> None:
    setup = Setup()
    progress = setup.progress()
    first = setup.policy.begin(progress, FLEET)
    assert setup.hedging.delay(first, progress, FLEET) == FIRST_LATE_SECONDS * progress.leg.cost.work
    for _ in range(SAMPLES):
        setup.latency.observe(0.0001)
    assert setup.hedging.delay(first, progress, FLEET) == SHORTEST_DELAY_SECONDS


def test_slow_fleet_has_no_hedges() -> None:
    setup = Setup()
    for seconds in [0.02] * SAMPLES + [0.1] * RECENT:
        setup.latency.observe(seconds)
    progress = setup.progress()
    assert setup.hedging.delay(setup.policy.begin(progress, FLEET), progress, FLEET) is None


NEVER = 60.0


async def answer(result: bytes | Exception) -> bytes:
    if isinstance(result, Exception):
        raise result
    return result


@pytest.fixture
async def silent() -> AsyncGenerator[UpstreamCall]:
    """A call of a replica that never answers."""
    async with wire_server(answering(b"")) as server:
        call = UpstreamCall(Endpoint(address_of(server.url, ""), NEVER), b"GET / HTTP/1.1\r\n\r\n", NEVER, 1000)
        yield call
        call.abandon(HedgeWonError())
        with pytest.raises(HedgeWonError):
            await call


@pytest.mark.parametrize(
    "result",
    [b"{}", RelayedError(code="too-large", http_status=413, title="t", detail="d", facts={})],
)
async def test_hedge_that_is_answered_ends_the_first_attempt(silent: UpstreamCall, result: bytes | Exception) -> None:
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


async def test_hedge_that_fails_leaves_the_first_attempt(silent: UpstreamCall) -> None:
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


async def test_hedge_that_is_refused_leaves_the_first_attempt() -> None:
    asked: list[None] = []
    with Hedge(0, lambda: asked.append(None)) as hedge:
        await wait_until(lambda: bool(asked), 3, "its time has come")
    assert hedge.second is None


async def test_running_hedge_is_cancelled_at_the_end_of_the_block() -> None:
    with Hedge(0, lambda: asyncio.create_task(asyncio.sleep(NEVER, b""))) as hedge:
        await wait_until(lambda: hedge.second is not None, 3, "the hedge has begun")
    assert hedge.second is not None
    await asyncio.wait({hedge.second})
    assert hedge.second.cancelled()
