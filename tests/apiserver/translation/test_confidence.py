"""Confidence and alternatives of a translation."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, isclose, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.catalog.calibration import Calibration, Signals
from apiserver.engine.interface import EngineGoneError, GenerationResult
from apiserver.guards.quality_guard import NOTES, PLACEHOLDER_LOST, WRONG_LANGUAGE
from apiserver.translation.alternatives import distinct
from apiserver.translation.confidence import (
    LENGTH_COST,
    Confidence,
    ConfidenceScorer,
    combined,
    rounded,
    signals_of,
    uncalibrated,
    with_issues,
)
from apiserver.translation.segment_attempts import SegmentResult
from shared.languages import LanguagePair
from shared.protocol.answers import LOW_CONFIDENCE, Translation
from tests.apiserver.translation.test_translator import german_words, translate, translator_of
from tests.support.scripted_engine import Asked

EN_DE = LanguagePair("en", "de")
SENTENCE = "House one is here."
GERMAN = "Das Haus steht hier."
CALIBRATION = Calibration(constant=2.0, mean=4.0, length=-0.2)
logprobs = st.floats(-1e6, 0)


def scored(text: str, *values: float) -> GenerationResult:
    return GenerationResult(text, "stop", logprobs=values)


@given(st.text(max_size=20), st.text(max_size=20), st.lists(logprobs, min_size=1, max_size=9))
def test_any_output_has_a_confidence_of_0_to_1(source: str, text: str, values: list[float]) -> None:
    for calibration in (None, CALIBRATION):
        confidence = ConfidenceScorer(EN_DE, calibration).score(source, scored(text, *values), ())
        assert 0 <= confidence.value <= 1
        assert confidence.tokens == len(values)


@given(logprobs, logprobs, st.floats(0, 100), st.floats(0, 100))
def test_better_signals_never_lower_the_confidence(one: float, other: float, near: float, far: float) -> None:
    better = Signals(max(one, other), min(near, far))
    worse = Signals(min(one, other), max(near, far))
    assert uncalibrated(better) >= uncalibrated(worse)
    assert CALIBRATION.probability(better) >= CALIBRATION.probability(worse)


def test_signals_are_of_all_tokens_and_the_length() -> None:
    signals = signals_of("a" * 100, "b" * 121, [-1.0, -0.2, -0.3], EN_DE)
    assert isclose(signals.mean, -0.5)
    assert isclose(signals.length, 0.0, abs_tol=1e-9), "German has 1.21 letters for each English one"
    assert signals_of("a" * 100, "b" * 60, [-1.0], EN_DE).length > 5


def test_uncalibrated_value_is_the_tokens_mean_probability() -> None:
    assert isclose(uncalibrated(Signals(log(0.5), 0.0)), 0.5)
    assert isclose(uncalibrated(Signals(0.0, 2.0)), exp(-2 * LENGTH_COST))


def test_output_without_tokens_has_none() -> None:
    assert ConfidenceScorer(EN_DE, CALIBRATION).score("a", GenerationResult("", "length"), ()) == Confidence(0.0, 1)


def test_issues_lower_the_confidence_by_their_weight() -> None:
    assert with_issues(Confidence(0.8, 3), [WRONG_LANGUAGE]) == Confidence(0.4, 3)
    assert with_issues(Confidence(0.8, 3), [WRONG_LANGUAGE, NOTES]).value < 0.4
    assert with_issues(Confidence(0.8, 3), [PLACEHOLDER_LOST, NOTES]) == Confidence(0.0, 3)


def test_parts_count_by_their_tokens() -> None:
    assert combined([]) is None
    assert combined([None, None]) is None
    whole = combined([Confidence(1.0, 1), None, Confidence(0.2, 3)])
    assert whole is not None
    assert (round(whole.value, 9), whole.tokens) == (0.4, 4)
    assert rounded(Confidence(0.123456)) == 0.123
    assert rounded(None) == 1.0


@pytest.mark.parametrize(
    ("fields", "asked"), [({}, False), ({"confidence": True}, True), ({"min_confidence": 0}, True)]
)
async def test_engine_computes_only_what_was_requested(fields: dict[str, Any], asked: bool) -> None:
    translator, engine = translator_of(lambda _: scored(GERMAN, -0.1))
    answer = await translate(translator, SENTENCE, **fields)
    assert [each.wants_logprobs for each in engine.asked] == [asked]
    assert (answer.confidence is not None) is asked


async def test_text_has_the_mean_of_its_segments() -> None:
    def answer(asked: Asked) -> GenerationResult:
        return scored("Garten und Wald.", *[log(0.5)] * 3) if "two" in asked.text else scored(GERMAN, log(0.9))

    translator, _ = translator_of(answer)
    one = (await translate(translator, SENTENCE, confidence=True)).confidence
    two = (await translate(translator, "House two is here.", confidence=True)).confidence
    both = (await translate(translator, f"{SENTENCE}\nHouse two is here.", confidence=True)).confidence
    assert one is not None
    assert two is not None
    assert both == pytest.approx((one + 3 * two) / 4, abs=0.001)


async def test_uncertain_parts_are_named_by_a_calibrated_model() -> None:
    def answer(asked: Asked) -> GenerationResult:
        return scored("Garten und Wald.", -5.0) if "two" in asked.text else scored(GERMAN, -0.1)

    translator, _ = translator_of(answer)
    text = f"{SENTENCE}\nHouse two is here."
    assert (await translate(translator, text, confidence=True)).uncertain is None
    bound = CALIBRATION.model_copy(update={"uncertain_below": 0.3})
    translator, _ = translator_of(answer, calibration=bound)
    found = await translate(translator, text, confidence=True)
    assert found.translation is not None
    assert found.uncertain is not None
    assert [found.translation[start:end] for start, end in found.uncertain] == ["Garten und Wald."]
    assert (await translate(translator, SENTENCE, confidence=True)).uncertain == []
    assert (await translate(translator, text)).uncertain is None
    assert "uncertain" not in (await translate(translator, text)).to_json().decode()


async def test_text_without_words_is_certain() -> None:
    translator, engine = translator_of(lambda _: scored(GERMAN, -5.0))
    assert (await translate(translator, "<b>1</b>", format="html", confidence=True)).confidence == 1.0
    assert engine.asked == []


async def test_second_attempt_has_a_confidence_of_its_own() -> None:
    outputs = iter([scored(SENTENCE, log(0.99)), scored(GERMAN, log(0.5))])
    translator, engine = translator_of(lambda _: next(outputs))
    answer = await translate(translator, SENTENCE, confidence=True)
    assert answer.translation == GERMAN
    assert answer.confidence is not None
    assert answer.confidence < 0.51
    assert all(asked.wants_logprobs for asked in engine.asked)


async def test_shown_issue_lowers_the_confidence() -> None:
    translator, _ = translator_of(lambda _: scored(SENTENCE, 0.0))
    answer = await translate(translator, SENTENCE, confidence=True)
    assert [notice.code for notice in answer.warnings] == ["output-echoes-source"]
    assert answer.confidence is not None
    assert answer.confidence <= 0.6


async def test_pieces_are_combined() -> None:
    """Without the name, no whole output may be returned; the pieces around it may."""

    def answer(asked: Asked) -> GenerationResult:
        return scored("Das Haus und der Garten", log(0.5)) if "{" not in asked.text else scored("</s>", 0.0)

    translator, _ = translator_of(answer)
    result = await translate(translator, "The house is {name} and the garden", confidence=True)
    assert result.translation is not None
    assert "{name}" in result.translation
    assert result.confidence is not None
    assert 0 < result.confidence < 0.51


async def test_unusable_text_has_no_confidence_left() -> None:
    translator, _ = translator_of(lambda _: GenerationResult("", "length", logprobs=[0.0]))
    answer = await translate(translator, SENTENCE, confidence=True)
    assert (answer.translation, answer.confidence) == (None, 0.0)


async def test_each_alternative_has_its_own() -> None:
    values = {
        None: (GERMAN, 0.9),
        1: ("Dort steht immer das Haus.", 0.5),
        2: (GERMAN, 0.4),
        3: ("Das Haus ist da.", 0.3),
    }

    def answer(asked: Asked) -> GenerationResult:
        text, probability = values[asked.sampling.seed]
        return scored(text, log(probability))

    translator, _ = translator_of(answer)
    result = await translate(translator, SENTENCE, alternatives=3, confidence=True)
    assert result.alternatives == [values[1][0], values[3][0]]
    assert result.confidence is not None
    assert result.alternatives_confidence is not None
    assert result.confidence > 0.6 > result.alternatives_confidence[0] > 0.4 > result.alternatives_confidence[1]
    high = await translate(translator, SENTENCE, alternatives=3, min_confidence=0.4)
    assert high.alternatives == [values[1][0]]


async def test_text_below_the_least_confidence_has_no_translation() -> None:
    translator, _ = translator_of(lambda _: scored(GERMAN, log(0.5)))
    low = await translate(translator, SENTENCE, min_confidence=0.9, alternatives=1)
    assert (low.translation, low.alternatives, low.alternatives_confidence) == (None, [], [])
    assert [notice.code for notice in low.warnings] == [LOW_CONFIDENCE]
    assert low.confidence is not None
    assert 0 < low.confidence < 0.9
    high = await translate(translator, SENTENCE, min_confidence=low.confidence)
    assert high.translation == GERMAN


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
