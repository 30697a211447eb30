"""Logistic regression of a few signals, by Newton's method; no coefficient has the wrong sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apiserver.catalog.calibration import Calibration, Signals

Floats = NDArray[np.float64]
# Of each signal: a better one must not lower the probability.
SIGNS: Final = (1, -1)
# Keeps coefficients finite where a signal separates all samples.
RIDGE: Final = 1e-3
# Newton's method doubles its digits at each step.
MAX_STEPS: Final = 50
ENOUGH: Final = 1e-9
FOLDS: Final = 5
FOLD_SEED: Final = 7


@dataclass(frozen=True)
class Sample:
    """One text's signals, and whether its translation is good."""

    signals: Signals
    is_good: bool


def fit(samples: Sequence[Sample]) -> Calibration:
    """Return the regression of these samples; a signal with the wrong sign is left out."""
    used = list(range(len(SIGNS)))
    while True:
        constant, *weights = _newton(samples, used)
        wrong = [signal for signal, weight in zip(used, weights, strict=True) if weight * SIGNS[signal] < 0]
        if not wrong:
            break
        used = [signal for signal in used if signal not in wrong]
    coefficients = dict(zip(used, weights, strict=True))
    mean, length = (round(coefficients.get(signal, 0.0), 4) for signal in range(len(SIGNS)))
    return Calibration(constant=round(constant, 4), mean=mean, length=length)


def _newton(samples: Sequence[Sample], used: Sequence[int]) -> list[float]:
    inputs: Floats = np.array([[1.0, *(sample.signals[signal] for signal in used)] for sample in samples])
    good: Floats = np.array([float(sample.is_good) for sample in samples])
    weights: Floats = np.zeros(1 + len(used))
    penalty: Floats = RIDGE * np.eye(1 + len(used))
    for _ in range(MAX_STEPS):
        scores: Floats = inputs @ weights
        probabilities: Floats = 1 / (1 + np.exp(-scores.clip(-500, 500)))
        curvature: Floats = inputs.T @ (inputs * (probabilities * (1 - probabilities))[:, None]) + penalty
        gradient: Floats = inputs.T @ (good - probabilities) - penalty @ weights
        step: Floats = np.linalg.solve(curvature, gradient).astype(np.float64)
        weights += step
        if float(np.abs(step).max()) < ENOUGH:
            break
    return [float(weight) for weight in weights]


def folds(count: int) -> list[set[int]]:
    """Return the indices of so many samples, in folds."""
    order = np.random.default_rng(FOLD_SEED).permutation(count)
    return [{int(index) for index in order[fold::FOLDS]} for fold in range(FOLDS)]


def out_of_fold(samples: Sequence[Sample]) -> list[float]:
    """Return each sample's probability by a regression of the other folds."""
    probabilities = [0.0] * len(samples)
    for held in folds(len(samples)):
        calibration = fit([sample for index, sample in enumerate(samples) if index not in held])
        for index in held:
            probabilities[index] = calibration.probability(samples[index].signals)
    return probabilities
