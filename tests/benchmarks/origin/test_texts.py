"""Texts and the loads that send them."""

from __future__ import annotations

import asyncio
import itertools
import math
from pathlib import Path

import pytest

from apiserver.catalog import loader
from benchmarks.harness.load import Stream, Timing
from benchmarks.origin.loads import PointPlan, completions_body, is_answer, run_plan
from benchmarks.origin.model import ANSWER_TOKENS
from benchmarks.origin.texts import (
    BOTH,
    MIXED_TOKENS,
    REVERSE,
    TEXTS_JSON,
    UNIFORM,
    UNIFORM_TOKENS,
    OriginText,
    Sentence,
    TextPool,
    mixed,
    pairs_of,
    texts_name,
)

SENTENCES = [
    f"{who} {' '.join(['really'] * long)} saw it {when}."
    for who in ("We", "They")
    for long in range(4, 20)
    for when in "abcd"
]


def words(text: str) -> int:
    return len(text.split())


def test_uniform_texts_are_new_and_of_one_length() -> None:
    found = list(itertools.islice(pairs_of(SENTENCES, "and", words, "1"), 100))
    assert len({unit.text for unit in found}) == 100
    assert all(UNIFORM_TOKENS[0] <= words(unit.text) == unit.tokens <= UNIFORM_TOKENS[1] for unit in found)
    assert found == list(itertools.islice(pairs_of(SENTENCES, "and", words, "1"), 100))


def test_uniform_texts_end() -> None:
    assert list(pairs_of(["Too short."], "and", words, "1")) == []


def test_mixed_texts_have_all_lengths_and_no_repeats() -> None:
    units = [
        Sentence(f"{number} {'x ' * (tokens - 2)}.", tokens)
        for number, tokens in enumerate([8, 12, 16, 20, 24, 30, 31] * 30)
    ]
    texts = list(itertools.islice(mixed(units, "1"), 320))
    assert len(set(texts)) == 320
    lengths = sorted(map(words, texts))
    assert lengths[0] < 2 * MIXED_TOKENS[0]
    assert lengths[-1] > 0.8 * MIXED_TOKENS[1]
    assert lengths[160] == pytest.approx(math.sqrt(MIXED_TOKENS[0] * MIXED_TOKENS[1]), rel=0.25)
    known = {unit.text for unit in units}
    for text in texts:
        parts = [f"{sentence.strip()} ." for sentence in text.split(".") if sentence]
        assert len(parts) == len(set(parts))
        assert {sentence.replace(" .", " .") for sentence in parts} <= {text.strip() for text in known}


def row(text: str, kind: str = UNIFORM) -> OriginText:
    return OriginText(kind, "en", "de", text, [([1, 2], 10)])


def test_text_pool_begins_again_at_its_end() -> None:
    pool = TextPool([row("a"), row("b"), row("c", REVERSE)])
    assert [pool.text(UNIFORM, number).text for number in (1, 2, 3)] == ["b", "a", "b"]
    assert [pool.text(BOTH, number).text for number in range(4)] == ["a", "c", "b", "c"]


def test_file_is_of_its_model_and_sentences(tmp_path: Path) -> None:
    (entry, *_) = loader.load(Path("deploy/models/demo.yaml"), ["en-de"])
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb")
    name = texts_name(entry, pairs, 1)
    assert name == texts_name(entry, pairs, 1)
    assert name != texts_name(entry, pairs, 2)
    assert name != texts_name(entry.model_copy(update={"engine": {}}), pairs, 1)
    pairs.write_text("a\tc")
    assert name != texts_name(entry, pairs, 1)


def test_texts_are_read_as_written(tmp_path: Path) -> None:
    texts = tmp_path / "texts.json"
    texts.write_bytes(TEXTS_JSON.dump_json([row("Ä")]))
    assert TextPool.read(texts).text(UNIFORM, 0) == OriginText(UNIFORM, "en", "de", "Ä", [([1, 2], 10)])


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
