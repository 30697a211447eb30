"""One text: its segments in worker tasks, and what is reported of it."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.engine.interface import EngineGoneError
from apiserver.formats.document import Block, Placeholder, PlaceholderKind, placeholder_char
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.planner import Plan, TextStep
from apiserver.translation.running_model import RunningModel
from apiserver.translation.segment_attempts import SegmentResult
from apiserver.translation.text_translation import SegmentPool, TextTranslation, most_workers
from shared.languages import LanguagePair
from shared.protocol.priority import Lane
from tests.apiserver.translation.running_models import ENTRY, model_of
from tests.apiserver.work_items import EN_DE, work_of
from tests.support.scripted_engine import ScriptedEngine

SEGMENT = "The house stands."


def text_of(work: WorkItem, *segments: str) -> tuple[TextTranslation, RunningModel]:
    model = model_of(ScriptedEngine(ENTRY))
    plan = Plan.of(EN_DE, [TextStep(each, Block(each, (), each), translatable=True) for each in segments or (SEGMENT,)])
    return TextTranslation(model, work, plan, index=0, turn=0), model


async def test_each_segment_frees_its_share_of_the_request() -> None:
    work = work_of(["word"] * 2)
    text, model = text_of(work, SEGMENT, "Two of them.", "Three.", "Four more.")
    model.admission.admit(work)
    work.units_per_segment = work.cost / 8
    await text.run()
    assert work.units_left == 1.0
    model.admission.release(work)
    assert model.admission.ahead(Lane.BULK_LONG, "", 0) == 0


BLOCK = Block("", (Placeholder(PlaceholderKind.NAME, "%s", "%s", is_text=True),), "")


def plan_of(*texts: str) -> Plan:
    return Plan.of(LanguagePair("en", "de"), [TextStep(text, BLOCK, translatable=True) for text in texts])


class Recorder:
    """Translates to upper case; keeps the requests and the results by index."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.results: dict[int, str | None] = {}

    async def translate(self, step: TextStep) -> SegmentResult:
        self.texts.append(step.text)
        await asyncio.sleep(0)
        return SegmentResult(step.text.upper())

    async def on_result(self, index: int, result: SegmentResult) -> None:
        self.results[index] = result.text


async def test_equal_segments_are_translated_once() -> None:
    recorder = Recorder()
    await SegmentPool(plan_of("a", "b", "a", "a"), recorder.translate, recorder.on_result, 4).run(4)
    assert sorted(recorder.texts) == ["a", "b"]
    assert recorder.results == {0: "A", 1: "B", 2: "A", 3: "A"}


async def test_equal_segments_with_placeholders_are_not_shared() -> None:
    recorder = Recorder()
    text = f"a {placeholder_char(0)}"
    await SegmentPool(plan_of(text, text), recorder.translate, recorder.on_result, 2).run(2)
    assert recorder.texts == [text, text]


async def test_pool_has_no_more_workers_than_it_may_grow_to() -> None:
    recorder = Recorder()
    running: list[str] = []
    gate = asyncio.Event()

    async def translate(step: TextStep) -> SegmentResult:
        running.append(step.text)
        pool.grow()
        await gate.wait()
        return await recorder.translate(step)

    pool = SegmentPool(plan_of(*"abcdefgh"), translate, recorder.on_result, 3)
    task = asyncio.create_task(pool.run(1))
    for _ in range(10):
        await asyncio.sleep(0)
    assert running == ["a", "b", "c"]
    gate.set()
    await task
    assert sorted(recorder.texts) == list("abcdefgh")


async def test_first_error_is_raised_itself() -> None:
    async def fail(_: TextStep) -> SegmentResult:
        raise EngineGoneError

    with pytest.raises(EngineGoneError):
        await SegmentPool(plan_of("a", "b"), fail, Recorder().on_result, 2).run(2)


@pytest.mark.parametrize(
    ("texts", "chars", "segments", "workers"),
    [
        (1, 48, 16, 16),  # a short text: each segment at once
        (256, 48, 16, 1),  # one of many: as much memory as it counts for
        (256, 640, 16, 10),
        (4, 48, 16, 4),
        (1, 10_000, 100, 32),  # a long text: two for each of its slots
        (256, 10_000, 100, 32),
        (256, 200, 100, 16),
    ],
)
def test_texts_of_lists_have_fewer_workers(texts: int, chars: int, segments: int, workers: int) -> None:
    steps = [TextStep("a", Block("a", (), "a"), translatable=True)] * segments
    assert most_workers(["a" * chars] * texts, 0, Plan.of(EN_DE, steps), long_width=16) == workers
