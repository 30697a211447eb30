"""Confidence: pure formulas, and what texts make of their segments' confidences."""

from __future__ import annotations

from math import exp, isclose, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.catalog.calibration import Calibration, Signals
from apiserver.engine.interface import GenerationResult
from apiserver.guards.quality_guard import NOTES, PLACEHOLDER_LOST, WRONG_LANGUAGE
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
from shared.languages import LanguagePair
from shared.protocol.answers import LOW_CONFIDENCE
from tests.apiserver.translation.test_translator import translate, translator_of
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
