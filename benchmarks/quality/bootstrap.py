"""Paired bootstrap of chrF: every system is scored on the same resamples of the sentences.

The statistics are those of sacrebleu's chrF2 (6 orders, no words, effective order): the score of the whole is equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

ORDERS: Final = 6
BETA_SQUARED: Final = 4.0
RESAMPLES: Final = 1000
SEED: Final = 12345
INTERVAL: Final = (2.5, 97.5)


@dataclass(frozen=True)
class Interval:
    """Value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"

    def signed(self) -> str:
        """Return it as a difference, with signs."""
        value, low, high = (round(each, 1) + 0.0 for each in (self.value, self.low, self.high))  # without -0.0
        return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"


@dataclass(frozen=True)
class ChrfSample:
    """chrF of one system's answers: of all, and of each resample."""

    whole: float
    resampled: NDArray[np.float64]

    @property
    def interval(self) -> Interval:
        """Return chrF with its interval."""
        return _interval(self.whole, self.resampled)

    def difference(self, other: ChrfSample) -> Interval:
        """Return by how much this chrF is above the other, of the same sentences."""
        return _interval(self.whole - other.whole, self.resampled - other.resampled)


def chrf_sample(answers: Sequence[str], references: Sequence[str]) -> ChrfSample:
    """Score the answers; as many answers are resampled by the same random numbers."""
    rows = np.array([_statistics(*texts) for texts in zip(answers, references, strict=True)], dtype=np.float64)
    draws = np.random.default_rng(SEED).integers(0, len(rows), (RESAMPLES, len(rows)))
    resampled = np.array([_chrf(rows[draw].sum(axis=0)) for draw in draws])
    return ChrfSample(_chrf(rows.sum(axis=0)), resampled)


def _interval(value: float, resampled: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(resampled, INTERVAL)
    return Interval(value, float(low), float(high))


def _statistics(answer: str, reference: str) -> list[int]:
    """Return n-grams of the answer, of the reference, and of both, for each order."""
    texts = "".join(answer.split()), "".join(reference.split())
    counts: list[int] = []
    for order in range(1, ORDERS + 1):
        ours, theirs = (Counter(text[at : at + order] for at in range(len(text) - order + 1)) for text in texts)
        counts += [ours.total(), theirs.total(), (ours & theirs).total()]
    return counts


def _chrf(statistics: NDArray[np.float64]) -> float:
    ours, theirs, both = statistics.reshape(ORDERS, 3).T
    known = (ours > 0) & (theirs > 0)
    if not known.any():
        return 0.0
    precision, recall = (both[known] / ours[known]).mean(), (both[known] / theirs[known]).mean()
    total = BETA_SQUARED * precision + recall
    return float(100 * (1 + BETA_SQUARED) * precision * recall / total) if total else 0.0
