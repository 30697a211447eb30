"""Retries, hedges, breakers and canaries on a real proxy with real sockets: who is asked, how often, and who comes back."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.proxy.proxies import SHORT_PROBE_TIMEOUT, RunningProxy, all_at_once, proxy
from tests.support.event_streams import StreamedAnswer, request_stream
from tests.support.fake_replica import FakeReplica, Fault, Script, replicas
from tests.support.waiting import Awake, again_where_paused, wait_until

CANARY = "Where is the station?"
PATIENT = 30.0  # a sweep interval in which nothing learnt by probing can help


@asynccontextmanager
async def pair_of(**settings: Any) -> AsyncGenerator[tuple[RunningProxy, FakeReplica, FakeReplica]]:
    """Two replicas, known to the proxy as well ones for long enough: 40 requests were answered.

    And as equally quick ones, or canaries alone would find out what a test does to the slower.
    """
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    one.canary = two.canary = CANARY
    async with replicas(one, two), proxy([one, two], probe_interval=PATIENT, **settings) as running:
        for _ in range(4):
            assert set(await all_at_once(running, 10)) == {200}
        running.holds_for_quick(one, two)
        for fake in (one, two):
            fake.requests.clear()
        yield running, one, two


async def metric(running: RunningProxy, name: str, label: str = "") -> float:
    """Return the sum of a metric's samples, of those with this label."""
    text = (await running.client.get("/metrics")).text
    samples = re.findall(rf"^{name}(\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
    return sum(float(value) for labels, value in samples if label in labels)


async def lost_requests(running: RunningProxy) -> float:
    """Return how many requests were taken from replicas that seemed to stand still."""
    return await metric(running, "pairway_proxy_attempts_total", 'outcome="replica-lost"')


async def send_until_received(running: RunningProxy, fake: FakeReplica) -> None:
    """Send requests until one goes there."""

    async def is_received() -> bool:
        assert (await running.translate("Hello"))[0] == 200
        return bool(fake.requests)

    await wait_until(is_received, 8, f"{fake.name} is asked")


def trials_since(began: float) -> int:
    """Return how many trials a replica may have had: one a second."""
    return int(time.monotonic() - began)


async def one_by_one(running: RunningProxy, count: int) -> set[int]:
    return {(await running.translate(f"text {number}"))[0] for number in range(count)}


@pytest.mark.parametrize("fault", ["reset-mid-body", "hang"])
async def test_faulty_replica_is_ejected_and_returns(fault: Fault) -> None:
    async with pair_of() as (running, bad, _):
        bad.translate.fault = fault
        await send_until_received(running, bad)
        began = time.monotonic()
        assert await one_by_one(running, 60) == {200}
        assert len(bad.requests) <= 12 + trials_since(began), "a few to learn it by, and trials"
        await wait_until(lambda: bad.canaries > 1, 5, "somebody asks after it")
        bad.translate = Script()
        bad.requests.clear()

        async def is_used() -> bool:
            assert await one_by_one(running, 5) == {200}
            return len(bad.requests) >= 5

        await wait_until(is_used, 8, "it has its share again")


@pytest.mark.parametrize("problem", [(500, "internal"), (503, "pair-unavailable")])
async def test_fast_failing_replica_attracts_no_requests(problem: tuple[int, str]) -> None:
    async with pair_of() as (running, bad, _):
        bad.translate.problem = problem
        await send_until_received(running, bad)
        began = time.monotonic()
        assert await one_by_one(running, 60) == {200}
        assert len(bad.requests) <= 10 + trials_since(began)
        bad.translate = Script()

        async def is_used() -> bool:
            bad.requests.clear()
            assert await one_by_one(running, 10) == {200}
            return len(bad.requests) >= 2

        await wait_until(is_used, 8, "it has its share again")


async def test_replica_asking_for_key_is_502() -> None:
    async with pair_of() as (running, one, two):
        one.translate.problem = two.translate.problem = (401, "key-required")
        status, problem, _ = await running.translate("Hello")
        assert (status, problem["code"]) == (502, "replica-failed")
        assert "401" in problem["detail"]


async def test_bad_requests_open_no_breaker() -> None:
    async with pair_of() as (running, one, two):
        one.translate.problem = two.translate.problem = (422, "invalid-request")
        for number in range(40):
            assert (await running.translate(f"text {number}"))[0] == 422
        # A request that a paused machine held up is hedged, or taken from a replica that seems to stand still, as it should be.
        asked = len(one.requests) + len(two.requests)
        held_up = await metric(running, "pairway_proxy_hedges_total") + await lost_requests(running)
        assert 40 <= asked <= 40 + held_up, "and nobody else is asked"
        one.translate = two.translate = Script()
        assert await one_by_one(running, 40) == {200}
        assert await metric(running, "pairway_proxy_retries_total") <= await lost_requests(running)


async def test_slow_request_is_hedged_and_the_loser_cancelled() -> None:
    async with pair_of() as (running, slow, quick):
        slow.translate.delay = quick.translate.delay = 0.0
        slow.translate.fault = "hang"
        await send_until_received(running, slow)
        assert await metric(running, "pairway_proxy_hedges_total") >= 1
        await wait_until(lambda: slow.aborts == len(slow.requests), 3, "the loser was cancelled")
        assert running.context.local_stats.load(slow.url, running.context.fleet.registry.snapshot) == 0


async def test_streams_are_not_hedged() -> None:
    async with pair_of() as (running, one, two):
        hedges = await metric(running, "pairway_proxy_hedges_total")
        one.translate.delay = two.translate.delay = 0.5
        heard = await request_stream(running.client, {"text": "Hello there", "source_lang": "en", "target_lang": "de"})
        assert heard.status == 200
        # A paused machine has it taken from a replica that seems to stand still.
        assert len(one.requests) + len(two.requests) <= 1 + await lost_requests(running)
        assert await metric(running, "pairway_proxy_hedges_total") == hedges


async def test_slow_fleet_gets_few_hedges() -> None:
    async with pair_of() as (running, one, two):
        one.translate.delay = two.translate.delay = 0.3
        for _ in range(12):
            assert set(await all_at_once(running, 10)) == {200}
        hedged = len(one.requests) + len(two.requests) - await lost_requests(running)
        assert hedged <= 120 + 26, "the burst, and a twentieth"


async def test_retries_are_bounded_by_budget() -> None:
    fakes = [FakeReplica("en>de", name=f"fake {number}") for number in range(4)]
    for fake in fakes:
        fake.translate.problem = (500, "internal")
    async with replicas(*fakes), proxy(fakes) as running:
        statuses: list[int] = []
        for _ in range(4):
            statuses += await all_at_once(running, 50)
        assert set(statuses) == {502}
        attempts = sum(len(fake.requests) for fake in fakes)
        assert attempts <= 200 + 200 * 0.2 + 10 * 20, "a fifth more, and ten a second"


async def test_load_is_shared_by_weight() -> None:
    big, small = FakeReplica("en>de", name="big"), FakeReplica("en>de", name="small")
    big.weight = 9.0
    big.translate.delay = small.translate.delay = 0.2
    async with replicas(big, small), proxy([big, small], probe_interval=PATIENT) as running:
        await all_at_once(running, 60)
        assert len(big.requests) > 3 * len(small.requests) > 0


async def test_requests_of_stalled_replica_are_retried() -> None:
    async with pair_of() as (running, stuck, _):
        stuck.translate.fault = "hang"
        request = {"text": "Hello there", "source_lang": "en", "target_lang": "de"}
        streams: list[asyncio.Task[StreamedAnswer]] = []  # no hedge helps a stream

        async def stream_is_stuck() -> bool:
            streams.append(asyncio.create_task(request_stream(running.client, request)))
            await wait_until(lambda: streams[-1].done() or stuck.requests, 3, "it is asked of one of them")
            return bool(stuck.requests)

        await wait_until(stream_is_stuck, 8, "a stream is stuck")
        others = asyncio.create_task(one_by_one(running, 100_000))  # while others answer, who does not stands still
        try:
            for heard in await asyncio.gather(*streams):
                assert (heard.status, heard.names[-1]) == (200, "result")
            await wait_until(lambda: stuck.aborts >= 1, 3, "it was given to the other")
        finally:
            others.cancel()


async def test_second_model_serves_while_preferred_is_away() -> None:
    first, second = FakeReplica("en>de", name="first"), FakeReplica("en>de", name="second")
    second.ranks["en>de"] = 1
    async with replicas(first, second), proxy([first, second]) as running:
        for _ in range(20):
            assert (await running.translate("Hello"))[1]["model"] == "model-first"
        await first.stop()
        for _ in range(5):
            status, answer, _ = await running.translate("Hello")
            assert (status, answer["model"]) == (200, "model-second")
        await first.start()
        await running.sees(first, "ready")

        async def is_back() -> bool:
            return (await running.translate("Hello"))[1]["model"] == "model-first"

        await wait_until(is_back, 5, "the preferred one again")


async def test_early_client_timeout_opens_no_breaker() -> None:
    async with pair_of() as (running, one, two):
        one.translate.delay = two.translate.delay = 0.2
        for _ in range(8):
            status, problem, _ = await running.translate("Hello", x_timeout_ms="20")
            assert (status, problem["code"]) == (504, "deadline-exceeded")
        one.translate = two.translate = Script()
        assert await one_by_one(running, 20) == {200}
        assert one.requests
        assert two.requests


async def test_refusing_replica_costs_no_retries() -> None:
    only = FakeReplica("en>de", name="only")
    only.translate.problem = (503, "pair-unavailable")
    async with replicas(only), proxy([only], probe_interval=PATIENT) as running:
        began = time.monotonic()
        for _ in range(20):
            status, problem, headers = await running.translate("Hello")
            assert (status, problem["code"]) == (503, "pair-unavailable")
            assert 1 <= int(headers["retry-after"]) <= 5
        assert len(only.requests) <= 5 + trials_since(began), "it is not asked while its breaker is open"
        assert await metric(running, "pairway_proxy_retries_total") == 0


async def test_preferred_model_returns_though_slower() -> None:
    slow, quick = FakeReplica("en>de", name="slow"), FakeReplica("en>de", name="quick")
    slow.canary = quick.canary = CANARY
    slow.translate.delay, quick.ranks["en>de"] = 0.2, 1
    async with replicas(slow, quick), proxy([slow, quick]) as running:
        await slow.stop()
        for _ in range(5):
            assert set(await all_at_once(running, 10)) == {200}
        assert len(quick.requests) >= 50
        await slow.start()
        await running.sees(slow, "ready")
        slow.requests.clear()
        quick.requests.clear()

        async def is_back() -> bool:
            return (await running.translate("Hello"))[1]["model"] == "model-slow"

        await wait_until(is_back, 8, "the preferred one again")

        async def is_left_alone() -> None:
            quick.requests.clear()
            assert set(await all_at_once(running, 20)) == {200}
            assert not quick.requests, "slower by nature is not out, and no reason to hedge"

        await again_where_paused(is_left_alone)


async def test_two_hung_replicas_of_three_fail_no_request() -> None:
    fakes = [FakeReplica("en>de", name=name) for name in ("one", "two", "three")]
    for fake in fakes:
        fake.canary = CANARY
    async with replicas(*fakes), proxy(fakes, probe_timeout=SHORT_PROBE_TIMEOUT) as running:
        for _ in range(4):
            assert set(await all_at_once(running, 10)) == {200}
        for fake in fakes[:2]:
            fake.translate.fault = fake.report.fault = "hang"
        for _ in range(10):
            assert set(await all_at_once(running, 6)) == {200}


async def test_premature_deadline_exceeded_counts_as_failure() -> None:
    async with pair_of() as (running, bad, _):
        bad.translate.problem = (504, "deadline-exceeded")
        await send_until_received(running, bad)
        began = time.monotonic()
        assert await one_by_one(running, 40) == {200}
        assert len(bad.requests) <= 10 + trials_since(began)


async def test_plain_4xx_opens_no_breaker() -> None:
    async with pair_of() as (running, one, two):
        one.translate.raw = two.translate.raw = (400, b"Bad Request")
        for number in range(10):
            status, problem, _ = await running.translate(f"text {number}")
            assert (status, problem["code"]) == (502, "replica-failed")
        one.translate = two.translate = Script()
        assert await one_by_one(running, 20) == {200}
        lines = (await running.client.get("/fleet")).json()["replicas"]
        assert {each["pairs"]["en-de"]["breaker"] for each in lines} == {"closed"}


async def test_long_deadline_is_kept_to_the_millisecond() -> None:
    only = FakeReplica("en>de", name="only")
    only.translate.fault = "hang"
    async with replicas(only), proxy([only]) as running:
        with Awake() as awake:
            status, problem, _ = await running.translate("Hello", x_timeout_ms="5100")
        assert (status, problem["code"]) == (504, "deadline-exceeded")
        assert awake.seconds < 5.6, "not rounded up to whole seconds"
