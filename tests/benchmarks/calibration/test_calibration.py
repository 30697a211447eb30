"""Regression, and how reliable its probabilities are."""

from __future__ import annotations

import random
from math import exp
from xml.etree import ElementTree as ET

import pytest

from apiserver.catalog.calibration import Calibration, Signals
from benchmarks.calibration.regression import Sample, fit, out_of_fold
from benchmarks.calibration.reliability import (
    MOST_GOOD_MARKED,
    Bin,
    Judged,
    auc,
    bins,
    brier,
    calibration_error,
    diagram,
    doubt,
    kept,
)

TRUE = Calibration(constant=2.0, mean=3.0, length=-0.5)


def drawn(count: int, truth: Calibration = TRUE) -> list[Sample]:
    rng = random.Random(1)  # noqa: S311 - samples, not secrets
    signals = [Signals(-exp(rng.gauss(-1, 0.8)), abs(rng.gauss(0, 2))) for _ in range(count)]
    return [Sample(each, rng.random() < truth.probability(each)) for each in signals]


def test_regression_finds_the_true_coefficients() -> None:
    found = fit(drawn(5000))
    assert found.constant == pytest.approx(TRUE.constant, abs=0.2)
    assert found.mean == pytest.approx(TRUE.mean, abs=0.4)
    assert found.length == pytest.approx(TRUE.length, abs=0.1)


def test_signal_with_the_wrong_sign_is_left_out() -> None:
    rng = random.Random(2)  # noqa: S311 - samples, not secrets
    samples = [Sample(Signals(-rng.random(), length := rng.random()), length > rng.random()) for _ in range(2000)]
    assert fit(samples).length == 0.0


def test_separated_samples_have_finite_coefficients() -> None:
    samples = [Sample(Signals(-number / 10, 0.0), number < 5) for number in range(10)]
    found = fit(samples)
    assert found.probability(Signals(-0.1, 0.0)) > 0.9
    assert found.probability(Signals(-0.9, 0.0)) < 0.1


def test_fold_knows_nothing_of_its_samples() -> None:
    samples = drawn(500)
    probabilities = out_of_fold(samples)
    assert len(probabilities) == len(samples)
    assert all(0 < value < 1 for value in probabilities)
    assert out_of_fold(samples) == probabilities
    alike = sum(probabilities) / len(samples) - sum(sample.is_good for sample in samples) / len(samples)
    assert abs(alike) < 0.02


PERFECT = [Judged(1.0, is_good=True), Judged(0.0, is_good=False)] * 30
HALF = [Judged(0.5, is_good=True), Judged(0.5, is_good=False)] * 30


def test_figures_of_perfect_and_of_empty_knowledge() -> None:
    assert (auc(PERFECT), brier(PERFECT), calibration_error(PERFECT)) == (1.0, 0.0, 0.0)
    assert (auc(HALF), brier(HALF), calibration_error(HALF)) == (0.5, 0.25, 0.0)
    assert auc(HALF[:1]) == 0.5


def test_auc_counts_pairs_in_the_right_order() -> None:
    judged = [
        Judged(0.9, is_good=True),
        Judged(0.4, is_good=True),
        Judged(0.6, is_good=False),
        Judged(0.4, is_good=False),
    ]
    assert auc(judged) == pytest.approx(2.5 / 4)


def test_bins_are_tenths() -> None:
    judged = [
        Judged(0.0, is_good=False),
        Judged(0.05, is_good=True),
        Judged(0.1, is_good=True),
        Judged(1.0, is_good=True),
    ]
    assert bins(judged) == [Bin(2, 0.025, 0.5), Bin(1, 0.1, 1.0), Bin(1, 1.0, 1.0)]
    assert calibration_error(judged) == pytest.approx((2 * 0.475 + 0.9) / 4)


def test_least_confidence_keeps_a_share() -> None:
    assert kept(PERFECT, 0.5) == (0.5, 1.0)
    assert kept(HALF, 0.5) == (1.0, 0.5)
    assert kept(HALF, 0.6) == (0.0, 0.0)


def test_bound_of_doubt_marks_few_good_and_many_bad_texts() -> None:
    judged = [Judged(number / 1000, is_good=True) for number in range(1, 1001)]
    judged += [Judged(number / 4000, is_good=False) for number in range(1000)]
    found = doubt(judged)
    assert found.bound is not None
    assert 0.03 < found.bound <= 0.05
    assert found.good <= MOST_GOOD_MARKED
    assert found.bad == pytest.approx(4 * found.bound, abs=0.03)


@pytest.mark.parametrize("judged", [HALF, [Judged(0.9, is_good=True)] * 30, [Judged(0.9, is_good=False)] * 30])
def test_useless_bound_is_none(judged: list[Judged]) -> None:
    assert doubt(judged).bound is None


def test_diagram_is_svg_with_a_curve_for_each_name() -> None:
    root = ET.fromstring(diagram({"en-de": PERFECT, "de-en": HALF}, "Title"))  # noqa: S314 - our own
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Title", "en-de", "de-en"} <= set(texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 3
