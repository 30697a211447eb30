"""Engine requests: prompts, their limits, and the slots that they hold."""

from __future__ import annotations

import time

import pytest

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import EngineGoneError
from apiserver.engine.prompt_encoder import PromptEncoder
from apiserver.prompts.sampling import Sampling
from apiserver.scheduling.batch_slots import CANARY_PRIORITY, BatchSlots
from apiserver.scheduling.fair_queue import SlotRequest
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.engine_requests import EngineRequester
from shared.languages import LanguagePair
from shared.protocol.lanes import Lane
from tests.support.scripted_engine import ScriptedEngine

EN_DE = LanguagePair("en", "de")
ENTRY = ModelEntry.model_validate({"name": "m", "path": "o/m", "pairs": ["en-de"], "prompt": "demo-tags"})


def requester_of(lane: Lane | None = Lane.INTERACTIVE_SHORT) -> tuple[EngineRequester, ScriptedEngine, BatchSlots]:
    engine = ScriptedEngine(ENTRY)
    slots = BatchSlots(4, time.monotonic)
    encoder = PromptEncoder.of(ENTRY.family, EN_DE, engine)
    return EngineRequester(engine, encoder, slots, SlotRequest(lane, "", 0), WorkItem(), "r"), engine, slots


async def test_each_request_has_its_own_id() -> None:
    requester, engine, _ = requester_of()
    for text in ("one", "two"):
        await requester(text, {}, Sampling())
    assert [asked.text for asked in engine.asked] == ["one", "two"]
    assert [asked.request_id for asked in engine.asked] == ["r-0", "r-1"]


async def test_canary_has_the_first_priority() -> None:
    requester, engine, _ = requester_of(lane=None)
    await requester("one", {}, Sampling())
    assert engine.asked[0].priority == CANARY_PRIORITY


async def test_prompt_without_space_for_an_answer_is_not_sent() -> None:
    requester, engine, slots = requester_of()
    result = await requester("x" * engine.max_model_len, {}, Sampling())
    assert result.finish_reason == "length"
    assert engine.asked == []
    assert slots.held == 0


async def test_slot_is_released_when_the_engine_dies() -> None:
    requester, engine, slots = requester_of()
    engine.die()
    with pytest.raises(EngineGoneError):
        await requester("one", {}, Sampling())
    assert slots.held == 0
