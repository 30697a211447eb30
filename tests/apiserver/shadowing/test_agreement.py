"""chrF of two outputs: sacrebleu's figures, symmetric, for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from apiserver.shadowing.agreement import MAX_NGRAM, chrf

GARDEN = "Das Haus meines Freundes steht immer noch zwischen Wald und Garten."
OTHER_GARDEN = "Das Haus von meinem Freund steht noch immer zwischen dem Wald und dem Garten."
WORDS = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", 1.0),
        ("", "Haus", 0.0),
        ("Haus", "", 0.0),
        ("Haus", "Haus", 1.0),
        ("das  Haus\n", "das Haus", 1.0),  # white space does not count
        ("abc", "xyz", 0.0),
        ("ab", "abc", 2 * (2 / 2) * (7 / 12) / (2 / 2 + 7 / 12)),  # 1-grams 2 of 2 and 3, 2-grams 1 of 1 and 2
        ("\ud800", "\ud800x", 2 / 3),  # 1-grams only: 1 of 1, and of 2
    ],
)
def test_chrf_of_known_texts(first: str, second: str, expected: float) -> None:
    assert chrf(first, second) == pytest.approx(expected)


def test_chrf_of_two_sentences_is_sacrebleus() -> None:
    assert chrf(GARDEN, OTHER_GARDEN) == pytest.approx(0.54717, abs=1e-5)
    assert CHRF(beta=1).sentence_score(OTHER_GARDEN, [GARDEN]).score == pytest.approx(54.717, abs=1e-3)


@given(WORDS, WORDS)
def test_chrf_is_symmetric_and_a_share(first: str, second: str) -> None:
    score = chrf(first, second)
    assert 0.0 <= score <= 1.0
    assert chrf(second, first) == pytest.approx(score)


@given(WORDS, WORDS)
def test_chrf_is_sacrebleus_for_any_texts(first: str, second: str) -> None:
    expected = CHRF(char_order=MAX_NGRAM, beta=1).sentence_score(first, [second]).score / 100
    assert chrf(first, second) == pytest.approx(expected, abs=1e-6)
