"""Work past its deadline is dropped wherever it waits: slots, lanes, vLLM's queue."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest

from apiserver.context import ApiServerContext
from apiserver.scheduling.work_item import WorkItem
from shared.languages import LanguagePair
from shared.protocol.deadline import Deadline
from shared.protocol.errors import DeadlineExceededError
from shared.protocol.translate_request import TranslateRequest
from tests.apiserver.conftest import Served
from tests.support.scripted_engine import ScriptedEngine, ScriptedFactory
from tests.support.waiting import again_where_paused, wait_until

# More than SHORT_SEGMENTS segments (of some five sentences here) are a long text, which waits for its turn in our lanes.
SENTENCES = 160


def document(name: str) -> str:
    return " ".join(f"The {name} house number {number} stands in the garden." for number in range(SENTENCES))


def asked_of(engine: ScriptedEngine, name: str) -> int:
    return sum(name in asked.text for asked in engine.asked)


async def test_request_expired_behind_a_long_text_never_starts(served: Served, factory: ScriptedFactory) -> None:
    engine = factory.engine("en-de")
    engine.gate.clear()
    first = asyncio.create_task(served.translate(document("first")))
    await wait_until(lambda: asked_of(engine, "first") == 1, 5)
    # One may wait as long as it takes itself; behind it there is no room.
    late = asyncio.create_task(served.translate(document("late"), headers={"X-Timeout-Ms": "5000"}))

    async def both_there() -> bool:
        return (await served.report())["in_flight"] == 2

    await wait_until(both_there, 5)
    answers = await asyncio.gather(*(served.translate(document("late")) for _ in range(9)))
    codes = Counter((answer.status_code, answer.json()["code"]) for answer in (*answers, await late))
    assert codes == {(504, "deadline-exceeded"): 1, (503, "overloaded"): 9}
    assert (await served.report())["in_flight"] == 1
    engine.gate.set()
    assert (await first).status_code == 200
    assert asked_of(engine, "late") == 0
    assert engine.running == 0


async def test_no_segment_starts_after_the_deadline(served: Served, factory: ScriptedFactory) -> None:
    engine = factory.engine("en-de")
    engine.delay = 0.1

    async def is_cut_off() -> None:
        engine.asked.clear()
        answer = await served.translate(document("slow"), headers={"X-Timeout-Ms": "800"})
        assert answer.status_code == 504
        begun = asked_of(engine, "slow")
        assert 1 <= begun < SENTENCES
        assert (await served.translate("Yes")).status_code == 200
        assert asked_of(engine, "slow") == begun
        assert engine.running == 0

    await again_where_paused(is_cut_off)


async def test_waiting_and_running_requests_end_at_their_deadline(served: Served, factory: ScriptedFactory) -> None:
    engine = factory.engine("en-de")
    engine.gate.clear()

    async def are_late() -> None:
        texts = [served.translate("Good morning", headers={"X-Timeout-Ms": "2000"}) for _ in range(8)]
        assert {answer.status_code for answer in await asyncio.gather(*texts)} == {504}
        assert engine.most_running == engine.max_num_seqs + 1  # one more than the batch has

    await again_where_paused(are_late)
    await wait_until(lambda: engine.running == 0, 5)
    assert engine.aborted == asked_of(engine, "Good")
    assert (await served.report())["models"]["en-de"]["room"]["bulk"]["ahead"] == 0
    engine.gate.set()


@pytest.mark.parametrize("text", ["Good morning", document("old")])
async def test_deadline_over_on_arrival_costs_no_engine_work(
    served: Served, factory: ScriptedFactory, text: str
) -> None:
    context: ApiServerContext = served.app.state.context
    engine = factory.engine("en-de")
    before = len(engine.asked)
    over = Deadline(time.monotonic() - 1, 1, time.monotonic)
    request = TranslateRequest(text=text, source_lang="en", target_lang="de")
    with pytest.raises(DeadlineExceededError):
        await context.model_server.translate(WorkItem(request, LanguagePair("en", "de"), over, "r"))
    await asyncio.sleep(0)
    assert len(engine.asked) == before
