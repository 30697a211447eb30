"""The loads of a point, and the clients of every HTTP server."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.harness.load import Stream, Timing
from benchmarks.origin.loads import PointPlan, completions_body, is_answer, run_plan
from benchmarks.origin.model import ANSWER_TOKENS
from benchmarks.origin.texts import UNIFORM, OriginText, TextPool

ROW = OriginText("mixed", "en", "de", "a b", [([1], 40), ([2], 50)])
POOL = TextPool([OriginText(UNIFORM, "en", "de", name, [([1, 2], 10)]) for name in "abc"])


def test_random_weights_answer_at_full_length() -> None:
    body = completions_body(ROW, is_random=True)
    assert (body["ignore_eos"], body["max_tokens"]) == (True, ANSWER_TOKENS)
    assert "repetition_detection" not in body
    body = completions_body(ROW, is_random=False)
    assert (body["prompt"], body["max_tokens"], "ignore_eos" in body) == ([[1], [2]], 50, False)


def test_text_without_one_answer_has_none() -> None:
    assert is_answer({"translation": "so so"}, ROW)
    assert not is_answer({"translation": ""}, ROW)
    assert is_answer({"choices": [{"text": "so"}, {"text": "so"}]}, ROW)
    assert not is_answer({"choices": [{"text": "so"}, {"text": ""}]}, ROW)
    assert not is_answer({"choices": [{"text": "so"}]}, ROW)


@pytest.mark.parametrize("stream", [Stream("texts", concurrency=3), Stream("texts", rate=200.0)])
async def test_plan_sends_its_texts_and_keeps_errors(stream: Stream) -> None:
    sent: list[str] = []

    async def send_text(row: OriginText) -> str:
        sent.append(row.text)
        await asyncio.sleep(0.01)
        return "504" if row.text == "b" else ""

    plan = PointPlan(UNIFORM, 4, stream, Timing(0.2))
    result = await run_plan(plan, POOL, send_text)
    assert sent[:3] == ["b", "c", "a"]
    assert {sample.code for sample in result.samples if sample.number % 3 == 1} == {"504"}
    assert {sample.failed for sample in result.samples if sample.number % 3 != 1} == {False}
    assert result.samples[0].number == 4
