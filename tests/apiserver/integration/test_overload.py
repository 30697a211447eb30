"""Overload: order of service, refusals, and times to come back."""

# pyright: reportPrivateUsage=false
# A drain rate takes seconds of full time to learn.

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from apiserver.context import ApiServerContext
from apiserver.scheduling.batch_slots import BULK_SHARE
from apiserver.scheduling.throughput import MEMORY_SECONDS
from shared.protocol.headers import CALLER_HEADER
from tests.apiserver.conftest import Served, SettingsFor, serving
from tests.support.scripted_engine import ScriptedEngine, ScriptedFactory
from tests.support.waiting import again_where_paused, wait_until

CATALOG = """
models:
  en-de: {path: org/en-de, pairs: [en-de], prompt: demo-tags, engine: {max_num_seqs: 8}}
"""
GREEDY, MODEST = "a" * 16, "b" * 16


@pytest.fixture
async def served(factory: ScriptedFactory, settings_for: SettingsFor) -> AsyncIterator[Served]:
    """Return a server with one model that runs 8 at once, and waits up to 40 units at 8 a second (the first guess)."""
    async with serving(factory, settings_for(CATALOG, queue_seconds=5)) as running:
        await running.until_ready({"en-de"})
        yield running


@pytest.fixture
def engine(served: Served, factory: ScriptedFactory) -> ScriptedEngine:
    assert served.port
    return factory.engine("en-de")


def in_hand(served: Served) -> float:
    context: ApiServerContext = served.app.state.context
    return sum(
        capacity.ahead for host in context.model_server.hosts for capacity in host.admission.class_capacities().values()
    )


def learn(served: Served, rate: float) -> None:
    """Let the model's drain rate be known, as if it had been full before."""
    context: ApiServerContext = served.app.state.context
    meter = context.model_server.hosts[0].admission.meter
    meter._units, meter._seconds, meter._seen_seconds = rate * 3, 3.0, 3.0


def slowdown_since(began: float) -> float:
    """Return how many times longer work takes by what the model is known for, which has done nothing since then."""
    return math.exp((time.monotonic() - began) / MEMORY_SECONDS)


async def test_one_text_does_not_wait_behind_another_callers_list(served: Served, engine: ScriptedEngine) -> None:
    engine.gate.clear()
    many = asyncio.create_task(served.translate(["wood"] * 120, headers={CALLER_HEADER: GREEDY}))
    await wait_until(lambda: engine.running == 9, 5)
    with pytest.raises(TimeoutError):  # no capacity at all: the greedy one has more ahead than the limit
        await asyncio.wait_for(asyncio.shield(many), 0.05)
    context: ApiServerContext = served.app.state.context
    context.model_server.hosts[
        0
    ].admission.batch_size = 1000  # of admission the proxy sees to; here it is the slots' turn
    one = asyncio.create_task(served.translate("garden", headers={CALLER_HEADER: MODEST}))
    await wait_until(lambda: context.model_server.report().in_flight == 121, 5)
    engine.gate.set()
    assert (await one).status_code == 200
    assert (await many).status_code == 200
    asked = [each.text for each in engine.asked]
    assert asked.index("garden") - asked.index("wood") <= 10


async def test_bulk_keeps_its_share_beside_interactive_work(served: Served, engine: ScriptedEngine) -> None:
    engine.delay = 0.02
    most_bulk = 0

    def running(word: str) -> int:
        return begun[word] - ended[word]

    begun: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    generate = engine.generate

    async def counted(ask: object, request_id: str) -> object:
        nonlocal most_bulk
        word = "bulk" if getattr(ask, "priority", 0) >= 4 else "urgent"
        begun[word] += 1
        if ended["urgent"] < 39:  # beside the last one bulk has the slots that urgent work leaves
            most_bulk = max(most_bulk, running("bulk"))
        try:
            return await generate(ask, request_id)  # pyright: ignore[reportArgumentType]
        finally:
            ended[word] += 1

    engine.generate = counted  # pyright: ignore[reportAttributeAccessIssue]
    urgent = asyncio.create_task(served.translate(["urgent"] * 40))
    await wait_until(lambda: running("urgent") > 0, 5)
    bulk = asyncio.create_task(served.translate(["bulk"] * 20, headers={"X-Priority": "bulk"}))
    assert (await urgent).status_code == 200
    assert (await bulk).status_code == 200
    assert most_bulk <= 8 // BULK_SHARE
    assert ended["bulk"] == 20


async def test_least_urgent_class_is_refused_first(settings_for: SettingsFor) -> None:
    async def is_refused_first() -> None:
        factory = ScriptedFactory()
        async with serving(factory, settings_for(CATALOG, queue_seconds=5)) as served:
            await served.until_ready({"en-de"})
            engine = factory.engine("en-de")
            learn(served, 8.0)
            began = time.monotonic()
            engine.gate.clear()
            hold = [asyncio.create_task(served.translate(["wood"] * 14)) for _ in range(2)]  # 28 of 8 + 40 units
            await wait_until(lambda: in_hand(served) == 3 * 28, 5)
            before = len(engine.asked)
            refused = await served.translate("x", headers={"X-Priority": "bulk"})
            assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
            assert refused.json()["reason"] == "full"
            assert refused.headers["retry-after"] == "1"  # 28 of 8 + 20: one unit is soon done
            assert len(engine.asked) == before
            hold.append(asyncio.create_task(served.translate(["wood"] * 14, headers={"X-Priority": "standard"})))
            hold.append(asyncio.create_task(served.translate(["wood"] * 20)))  # of 28 + 20 none is standard's
            await wait_until(lambda: in_hand(served) == 3 * 48 + 2 * 14, 5)
            refused = await served.translate(["x"] * 25)
            assert refused.status_code == 503
            # 25 units at 8 a second, less the longer it stands still
            assert 3 <= int(refused.headers["retry-after"]) <= 6 * slowdown_since(began)
            text = (await served.client.get("/metrics")).text
            assert 'pairway_apiserver_refused_total{model="en-de",priority="bulk"} 1.0' in text
            assert 'pairway_apiserver_refused_total{model="en-de",priority="interactive"} 1.0' in text
            assert 'pairway_apiserver_throughput_units_per_second{model="en-de"} ' in text
            assert 'pairway_apiserver_limit_units{model="en-de",priority="bulk"} 2' in text
            engine.gate.set()
            assert {(await each).status_code for each in hold} == {200}
            assert in_hand(served) == 0

    await again_where_paused(
        is_refused_first
    )  # what waits is refused after 5 s, and a model that stands still takes less


async def test_request_too_late_to_finish_is_refused_at_once(served: Served, engine: ScriptedEngine) -> None:
    learn(served, 8.0)
    began = time.monotonic()
    engine.gate.clear()
    hold = asyncio.create_task(served.translate(["wood"] * 40))
    await wait_until(lambda: in_hand(served) == 3 * 40, 5)
    refused = await served.translate("x", headers={"X-Timeout-Ms": "2000"})
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert "would take" in refused.json()["detail"]
    assert refused.json()["reason"] == "late"
    # 33 units at 8 a second are two seconds more than it has
    assert 2 <= int(refused.headers["retry-after"]) <= 5 * slowdown_since(began)
    engine.gate.set()
    assert (await hold).status_code == 200


async def test_request_without_a_slot_is_refused_at_its_queue_deadline(
    factory: ScriptedFactory, settings_for: SettingsFor
) -> None:
    async with serving(factory, settings_for(CATALOG, queue_seconds=0.05)) as served:
        await served.until_ready({"en-de"})
        engine = factory.engine("en-de")
        engine.gate.clear()
        hold = asyncio.create_task(served.translate(["wood"] * 8))
        last = asyncio.create_task(served.translate("wood"))
        await wait_until(lambda: engine.running == 9, 5)
        context: ApiServerContext = served.app.state.context
        context.model_server.hosts[
            0
        ].admission.batch_size = 1000  # as many would be let in by an engine that was quick until now
        late = await served.translate("late")
        assert (late.status_code, late.json()["code"]) == (503, "overloaded")
        assert "could begin" in late.json()["detail"]
        assert late.json()["reason"] == "queue"
        assert late.headers["retry-after"]
        engine.gate.set()
        assert (await hold).status_code == 200, "what runs is not refused any more"
        assert (await last).status_code == 200
        assert "late" not in {asked.text for asked in engine.asked}
        assert in_hand(served) == 0


async def test_wrong_priority_is_named(served: Served) -> None:
    answer = await served.translate("x", headers={"X-Priority": "now"})
    assert answer.status_code == 422
    assert "X-Priority" in answer.json()["detail"]


async def test_disconnected_callers_leave_nothing_in_flight(served: Served, engine: ScriptedEngine) -> None:
    engine.gate.clear()
    many = [
        asyncio.create_task(
            served.translate(["wood"] * 3, headers={CALLER_HEADER: f"{number:016x}", "X-Priority": priority})
        )
        for number, priority in enumerate(["interactive", "standard", "bulk"] * 3)
    ]
    await wait_until(lambda: in_hand(served) == 9 * (1 + 2 + 3), 5)
    for each in many:
        each.cancel()
    await asyncio.gather(*many, return_exceptions=True)
    await wait_until(lambda: in_hand(served) == 0, 5)
    await wait_until(lambda: engine.running == 0, 5)
    engine.gate.set()
    assert (await served.translate("x")).status_code == 200


async def test_full_model_refuses_though_the_next_is_idle(factory: ScriptedFactory, settings_for: SettingsFor) -> None:
    two = CATALOG + "  other: {path: org/other, pairs: [en-de], prompt: demo-tags, engine: {max_num_seqs: 8}}\n"
    async with serving(factory, settings_for(two)) as served:
        await served.until_ready({"en-de"})
        other = "other"
        await wait_until(lambda: bool(factory.engines[other]), 5)
        engine = factory.engine("en-de")
        engine.gate.clear()
        hold = asyncio.create_task(served.translate(["wood"] * 30))
        await wait_until(lambda: in_hand(served) == 3 * 30, 5)
        assert (await served.translate("x")).status_code == 503
        assert "x" not in {asked.text for asked in factory.engine(other).asked}
        engine.gate.set()
        assert (await hold).json()["results"][0]["model"] == "en-de"
