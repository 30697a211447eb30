"""The bootstrap's chrF is sacrebleu's, and its resamples are paired."""

from __future__ import annotations

import pytest
from sacrebleu.metrics.chrf import CHRF

from benchmarks.quality.bootstrap import chrf_sample

REFERENCES = [
    "Wo ist der Bahnhof?",
    "Ich habe meine Schlüssel verloren.",
    "Guten Morgen!",
    "Der Zug fährt um 8:05 Uhr.",
] * 10
ANSWERS = ["Wo ist die Bahn?", "Ich verlor gestern meine Schlüssel.", "", "Der Zug fährt um 8:50 Uhr ab."] * 10


def test_score_is_that_of_sacrebleu() -> None:
    expected = CHRF().corpus_score(ANSWERS, [REFERENCES]).score

    assert chrf_sample(ANSWERS, REFERENCES).whole == pytest.approx(expected)


def test_nothing_right_is_0() -> None:
    assert chrf_sample(["", ""], ["ja", "nein"]).whole == 0
    assert chrf_sample(["zz"], ["ab"]).interval.high == 0


def test_interval_holds_the_score() -> None:
    interval = chrf_sample(ANSWERS, REFERENCES).interval

    assert interval.low < interval.value < interval.high


def test_equal_answers_differ_by_nothing() -> None:
    difference = chrf_sample(ANSWERS, REFERENCES).difference(chrf_sample(list(ANSWERS), REFERENCES))

    assert (difference.low, difference.value, difference.high) == (0, 0, 0)


def test_difference_is_narrower_than_its_scores() -> None:
    better = [REFERENCES[0], *ANSWERS[1:]]
    sample = chrf_sample(better, REFERENCES)
    difference = sample.difference(chrf_sample(ANSWERS, REFERENCES))

    assert difference.value > 0
    assert difference.high - difference.low < sample.interval.high - sample.interval.low
    assert difference.signed().startswith("+")
