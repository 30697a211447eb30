"""The engine requests of one text: their ids, limits, priorities, and the slots that they hold."""

from __future__ import annotations

import pytest

from apiserver.engine.interface import EngineGoneError
from apiserver.prompts.sampling import Sampling
from apiserver.scheduling.batch_slots import CANARY_PRIORITY
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.engine_requests import EngineRequests, TurnRunner
from apiserver.translation.planner import Plan
from apiserver.translation.running_model import RunningModel
from shared.protocol.priority import Lane
from tests.apiserver.translation.running_models import ENTRY, model_of
from tests.apiserver.work_items import EN_DE, work_of
from tests.support.scripted_engine import ScriptedEngine


def requests_of(work: WorkItem) -> tuple[EngineRequests, ScriptedEngine, RunningModel]:
    engine = ScriptedEngine(ENTRY)
    model = model_of(engine)
    return EngineRequests(model, work, Plan.of(EN_DE, []), 0, 0, TurnRunner()), engine, model


async def test_each_request_has_its_own_id() -> None:
    requests, engine, _ = requests_of(work_of())
    for words in ("one", "two"):
        await requests.output(words, {}, Sampling())
    assert [asked.text for asked in engine.asked] == ["one", "two"]
    assert [asked.request_id for asked in engine.asked] == ["r-0-0", "r-0-1"]
    assert {asked.priority for asked in engine.asked} == {Lane.INTERACTIVE_SHORT}


async def test_canary_has_the_first_priority_and_needs_no_slot() -> None:
    requests, engine, model = requests_of(work_of(canary=True))
    for _ in range(4):
        await model.slots.acquire(Lane.INTERACTIVE_SHORT, work_of(), 0)
    await requests.output("one", {}, Sampling())
    assert engine.asked[0].priority == CANARY_PRIORITY


async def test_prompt_without_space_for_an_answer_is_not_sent() -> None:
    requests, engine, model = requests_of(work_of())
    result = await requests.output("x" * engine.max_model_len, {}, Sampling())
    assert result.finish_reason == "length"
    assert engine.asked == []
    assert model.slots.held == 0


async def test_slot_is_released_when_the_engine_dies() -> None:
    requests, engine, model = requests_of(work_of())
    engine.die()
    with pytest.raises(EngineGoneError):
        await requests.output("one", {}, Sampling())
    assert model.slots.held == 0


async def test_slot_is_reported_before_the_output() -> None:
    requests, engine, model = requests_of(work_of())
    held: list[tuple[int, int]] = []
    requests.on_slot = lambda: held.append((model.slots.held, len(engine.asked)))
    await requests.output("one", {}, Sampling())
    assert held == [(1, 0)]
