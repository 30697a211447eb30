"""The loads of a point, and the clients of every HTTP server."""

from __future__ import annotations

import asyncio
import json

import pytest

from benchmarks.harness.load import RESULT_JSON, Stream, Timing
from benchmarks.origin.loads import PointPlan, completions_body, is_answer, plan_response, run_plan
from benchmarks.origin.model import ANSWER_TOKENS, joined
from benchmarks.origin.texts import UNIFORM, OriginText, TextPool

ROW = OriginText("mixed", "en", "de", "a b", [([1], ANSWER_TOKENS), ([2], ANSWER_TOKENS)])
POOL = TextPool([OriginText(UNIFORM, "en", "de", name, [([1, 2], 10)]) for name in "abc"])


def test_full_length_completions_are_counted_by_tokens() -> None:
    body = completions_body(ROW, full_length=True)
    assert (body["ignore_eos"], body["max_tokens"]) == (True, ANSWER_TOKENS)
    assert "repetition_detection" not in body
    content = {"choices": [{"text": ""}, {"text": ""}], "usage": {"completion_tokens": 2 * ANSWER_TOKENS}}
    assert is_answer(content, ROW, full_length=True)
    assert not is_answer(content, ROW)
    content["usage"] = {"completion_tokens": 2 * ANSWER_TOKENS - 1}
    assert not is_answer(content, ROW, full_length=True)


def test_text_without_one_answer_has_none() -> None:
    assert joined(["so so", "so"]) == "so so so"
    assert is_answer({"translation": joined(["so so", "so"])}, ROW)
    assert not is_answer({"translation": joined(["", "so so"])}, ROW)


@pytest.mark.parametrize("stream", [Stream("texts", concurrency=3), Stream("texts", rate=200.0)])
async def test_plan_sends_its_texts_and_keeps_errors(stream: Stream) -> None:
    sent: list[str] = []

    async def send_text(row: OriginText) -> str:
        sent.append(row.text)
        await asyncio.sleep(0.01)
        return "504" if row.text == "b" else ""

    plan = PointPlan("", UNIFORM, 4, stream, Timing(0.2))
    result = await run_plan(plan, POOL, send_text)
    assert sent[:3] == ["b", "c", "a"]
    assert {sample.code for sample in result.samples if sample.number % 3 == 1} == {"504"}
    assert {sample.failed for sample in result.samples if sample.number % 3 != 1} == {False}
    body = bytes(plan_response(result).body)
    assert RESULT_JSON.validate_json(body) == result
    assert json.loads(body)["samples"][0][1] == 4
