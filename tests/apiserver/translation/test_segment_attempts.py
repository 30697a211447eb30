"""Requests to an engine, and the attempts that a segment has."""

from __future__ import annotations

import pytest

from apiserver.engine.interface import EngineGoneError
from apiserver.formats.document import placeholder_char
from apiserver.guards.quality_guard import EMPTY, NAME_CHANGED, NUMBER_CHANGED, PLACEHOLDER_LOST, WRONG_LANGUAGE
from apiserver.prompts.sampling import Sampling
from apiserver.scheduling.batch_slots import CANARY_PRIORITY
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.engine_requests import EngineRequests, TurnRunner
from apiserver.translation.planner import Plan
from apiserver.translation.running_model import RunningModel
from apiserver.translation.segment_attempts import SegmentAttempts, SegmentResult, cut_into_pieces
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


NAME, NUMBER = NAME_CHANGED.with_values(["Zuzana"]), NUMBER_CHANGED.with_values(["8:05"])


def attempts_of(*candidates: SegmentResult) -> SegmentAttempts:
    """Return attempts with these candidates."""
    attempts = SegmentAttempts()
    for candidate in candidates:
        attempts.add(candidate)
    return attempts


def test_text_without_issues_ends_the_attempts() -> None:
    attempts = SegmentAttempts()
    assert not attempts.add(SegmentResult(None, (EMPTY,)))
    assert not attempts.add(SegmentResult("eins", (NUMBER,)))
    assert attempts.add(SegmentResult("zwei"))
    assert attempts.result("second").text == "zwei"


def test_best_has_the_lightest_issues_and_every_attempt_s_codes() -> None:
    heavy = SegmentResult("eins", (WRONG_LANGUAGE,), (WRONG_LANGUAGE.code,))
    light = SegmentResult("zwei", (NUMBER,), (NUMBER.code,))
    best = attempts_of(heavy, light).best()
    assert (best.text, best.stage) == ("zwei", "best")
    assert best.issue_codes == (WRONG_LANGUAGE.code, NUMBER.code)


def test_without_a_usable_text_the_first_attempt_says_why() -> None:
    none = attempts_of(SegmentResult(None, (WRONG_LANGUAGE, EMPTY))).best()
    assert (none.text, none.stage, none.issues) == (None, "none", (EMPTY, WRONG_LANGUAGE))
    assert SegmentAttempts().best().issues == (PLACEHOLDER_LOST,)


def test_lost_values_only_if_nothing_else_is_wrong() -> None:
    assert attempts_of(SegmentResult("eins", (NAME, NUMBER))).lost_values == (NAME, NUMBER)
    assert attempts_of(SegmentResult("eins", (NAME, WRONG_LANGUAGE))).lost_values == ()
    assert attempts_of(SegmentResult(None, (EMPTY,))).lost_values == ()


A, B = placeholder_char(0), placeholder_char(1)


@pytest.mark.parametrize(
    ("text", "anywhere", "parts"),
    [
        (f"This is {A}very important{B} for us.", False, ["This is", " ", A, "very important", B, " ", "for us."]),
        ("I know the house, and I like it.", False, ["I know the house,", " ", "and I like it."]),
        ("one two three four", False, ["one two three four"]),
        ("one two three four", True, ["one two", " ", "three four"]),
        ("Haus", True, ["Haus"]),
    ],
)
def test_segment_is_cut_at_its_best_places(text: str, anywhere: bool, parts: list[str]) -> None:
    pieces = cut_into_pieces(text, "en", anywhere=anywhere)
    assert pieces == parts
    assert "".join(pieces) == text
