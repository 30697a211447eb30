"""Logistic regression: finds the true coefficients, and keeps the signs."""

from __future__ import annotations

import random
from math import exp

import pytest

from apiserver.catalog.calibration import Calibration, Signals
from benchmarks.calibration.regression import Sample, fit, out_of_fold

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
