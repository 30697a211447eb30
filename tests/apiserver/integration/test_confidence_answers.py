"""Confidence in answers of every form, and texts that are withheld for it."""

from __future__ import annotations

from math import log

import pytest

from apiserver.engine.interface import GenerationResult
from tests.apiserver.conftest import Served
from tests.support.event_streams import request_stream
from tests.support.scripted_engine import Asked, ScriptedFactory, in_brackets

UNSURE = "word"


@pytest.fixture
def doubtful(served: Served, factory: ScriptedFactory) -> Served:
    """Return a server whose engine is unsure of one word."""

    def answer(asked: Asked) -> GenerationResult:
        result = in_brackets(asked)
        result.logprobs = [log(0.2 if asked.text == UNSURE else 0.9)] * 4
        return result

    factory.engine("en-de").answer = answer
    return served


async def test_confidence_comes_only_if_requested(doubtful: Served, factory: ScriptedFactory) -> None:
    plain = (await doubtful.translate("sure")).json()
    assert "confidence" not in plain
    scored = (await doubtful.translate("sure", more={"confidence": True})).json()
    assert 0.5 < scored.pop("confidence") < 0.9
    assert scored == plain
    assert [asked.wants_logprobs for asked in factory.engine("en-de").asked[-2:]] == [False, True]


async def test_unchanged_texts_are_certain(doubtful: Served) -> None:
    results = (await doubtful.translate(["123", "sure"], more={"confidence": True})).json()["results"]
    assert [result["confidence"] == 1.0 for result in results] == [True, False]
    assert (await doubtful.translate("123", more={"min_confidence": 1})).json()["confidence"] == 1.0


async def test_list_has_null_for_a_text_below_the_least(doubtful: Served) -> None:
    results = (await doubtful.translate(["sure", UNSURE], more={"min_confidence": 0.5})).json()["results"]
    assert [result["translation"] for result in results] == ["[sure]", None]
    assert [[warning["code"] for warning in result["warnings"]] for result in results] == [[], ["low-confidence"]]
    assert results[1]["confidence"] < 0.5


async def test_single_text_below_the_least_is_502(doubtful: Served) -> None:
    answer = await doubtful.translate(UNSURE, more={"min_confidence": 0.5})
    assert (answer.status_code, answer.json()["code"]) == (502, "unusable-output")
    assert answer.json()["warnings"][0]["code"] == "low-confidence"
    assert "lower than min_confidence, 0.5" in answer.json()["detail"]
    metrics = (await doubtful.client.get("/metrics")).text
    assert '"low-confidence"' in metrics


async def test_stream_ends_with_the_confidence(doubtful: Served) -> None:
    body = {"text": "sure", "source_lang": "en", "target_lang": "de", "confidence": True}
    stream = await request_stream(doubtful.client, body)
    assert 0.5 < stream.result["confidence"] < 0.9


async def test_stream_cannot_have_a_least_confidence(doubtful: Served) -> None:
    headers = {"Accept": "text/event-stream"}
    answer = await doubtful.translate("sure", more={"min_confidence": 0.5}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert [each["field"] for each in answer.json()["errors"]] == ["min_confidence"]


@pytest.mark.parametrize("value", [-0.1, 1.1, "0.5", True])
async def test_wrong_least_confidence_is_422(doubtful: Served, value: object) -> None:
    answer = await doubtful.translate("sure", more={"min_confidence": value})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


async def test_nan_is_no_json(doubtful: Served) -> None:
    body = b'{"text":"a","source_lang":"en","target_lang":"de","min_confidence":NaN}'
    answer = await doubtful.client.post("/translate", content=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
