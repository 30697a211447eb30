"""Alternatives: different, without issues, and never more than one engine request each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.engine.interface import EngineGoneError, GenerationResult
from apiserver.translation.alternatives import distinct
from apiserver.translation.segment_attempts import SegmentResult
from shared.protocol.answers import Translation
from tests.apiserver.translation.test_translator import german_words, translate, translator_of
from tests.support.scripted_engine import Asked

SENTENCE = "House one is here."


def seeded(answers: dict[int | None, str]) -> Callable[[Asked], GenerationResult]:
    """Answer by the seed of the sampling; None is the first request's."""
    return lambda asked: GenerationResult(answers[asked.sampling.seed], "stop")


async def translated(answers: dict[int | None, str], text: str = SENTENCE, count: int = 3) -> tuple[Translation, int]:
    translator, engine = translator_of(seeded(answers))
    return await translate(translator, text, alternatives=count), len(engine.asked)


async def test_alternatives_differ_from_the_translation_and_each_other() -> None:
    first, second = "Das Haus steht hier.", "Dort steht immer das Haus."
    answer, requests = await translated({None: first, 1: f" {first.upper()}", 2: second, 3: second.replace("D", "d")})
    assert (answer.translation, answer.alternatives, requests) == (first, [second], 4)


async def test_outputs_with_issues_are_no_alternatives() -> None:
    first, good = "Das Haus steht hier.", "Das eine Haus steht."
    answer, _ = await translated({None: first, 1: SENTENCE, 2: "</s>", 3: good})
    assert answer.alternatives == [good]
    assert answer.warnings == []


async def test_text_of_segments_takes_what_each_has() -> None:
    def answer(asked: Asked) -> GenerationResult:
        number = {None: 0, 1: 1, 2: 2}[asked.sampling.seed]
        words = ["Das Haus steht", "Dort steht das Haus", "Das Haus ist dort"]
        if "last" in asked.text:
            words = ["Garten und Wald", "Wald und Garten", "Garten und Wald"]
        return GenerationResult(f"{words[number]}.", "stop")

    translator, engine = translator_of(answer)
    result = await translate(translator, "House first is here.\nHouse last is here.", alternatives=2)
    assert result.translation == "Das Haus steht.\nGarten und Wald."
    assert result.alternatives == ["Dort steht das Haus.\nWald und Garten.", "Das Haus ist dort.\nGarten und Wald."]
    assert len(engine.asked) == 6


async def test_unusable_text_has_no_alternatives() -> None:
    translator, _ = translator_of(lambda _: GenerationResult("", "length"))
    result = await translate(translator, SENTENCE, alternatives=1)
    assert (result.translation, result.alternatives) == (None, [])


@pytest.mark.parametrize("count", [0, 2])
async def test_only_requested_alternatives_are_there(count: int) -> None:
    translator, engine = translator_of(german_words)
    result = await translate(translator, SENTENCE, alternatives=count)
    assert result.alternatives == ([] if count else None)
    assert len(engine.asked) == 1 + count


async def test_placeholders_are_in_every_alternative() -> None:
    texts = {
        None: "Hallo <n1/>, das Haus steht.",
        1: "<n1/>, hier steht das Haus.",
        2: "Hallo, das Haus steht.",
        3: "<n1/> <n1/>",
    }
    answer, _ = await translated(texts, "Hello {name}, the house is here. \U0001f600")
    assert answer.translation == "Hallo {name}, das Haus steht. \U0001f600"
    assert answer.alternatives is not None
    assert [each.count("{name}") for each in answer.alternatives] == [1]


async def test_dead_engine_ends_the_alternatives_too() -> None:
    translator, engine = translator_of(german_words)
    engine.die()
    with pytest.raises(EngineGoneError):
        await translate(translator, SENTENCE, alternatives=3)
    assert engine.running == 0


@given(
    st.text(max_size=4), st.lists(st.none() | st.sampled_from(["a", "A ", " a", "b", "b c", "B  C", ""]), max_size=5)
)
def test_distinct_texts_keep_their_order(first: str, others: list[str | None]) -> None:
    found = [each.text or "" for each in distinct(first, map(SegmentResult, others))]
    keys = [" ".join(text.split()).casefold() for text in (first, *found)]
    assert len(set(keys)) == len(keys)
    assert [text for text in others if text in found][: len(found)] == found or len(found) <= len(others)
