"""Confidence: how likely a translation is good (docs/decisions/0036-confidence.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final, NamedTuple

from apiserver.catalog.calibration import Calibration, Signals
from apiserver.engine.interface import GenerationResult
from apiserver.guards.length import expected_weight
from apiserver.guards.quality_guard import OutputIssue
from apiserver.guards.scripts import text_weight
from shared.languages import LanguagePair
from shared.protocol.answers import CONFIDENCE_DIGITS, CONFIDENCE_OF_UNCHANGED

# Issues of this weight in sum make a translation worthless (apiserver/guards/quality_guard.py).
WORTHLESS_WEIGHT: Final = 100
# Uncalibrated, a length one root off its expectation counts as this much log-probability a token.
LENGTH_COST: Final = 0.05


class Confidence(NamedTuple):
    """A segment's confidence (0..1), and its tokens: its weight."""

    value: float
    tokens: int = 1


@dataclass(frozen=True, slots=True)
class ConfidenceScorer:
    """Scorer of one pair's outputs; uncalibrated without a ``calibration``."""

    pair: LanguagePair
    calibration: Calibration | None

    @property
    def uncertain_below(self) -> float | None:
        """Confidence below which a person should check; None: not known."""
        return None if self.calibration is None else self.calibration.uncertain_below

    def score(self, source: str, output: GenerationResult, issues: Iterable[OutputIssue]) -> Confidence:
        """Return an output's confidence; ``source`` is as the model saw it."""
        tokens = len(output.logprobs)
        if not tokens:
            return Confidence(0.0)
        signals = signals_of(source, output.text, output.logprobs, self.pair)
        value = uncalibrated(signals) if self.calibration is None else self.calibration.probability(signals)
        return with_issues(Confidence(value, tokens), issues)


def signals_of(source: str, translation: str, logprobs: Sequence[float], pair: LanguagePair) -> Signals:
    """Return an output's signals; ``logprobs`` are of all its tokens."""
    expected = expected_weight(text_weight(source), pair)
    deviation = abs(text_weight(translation) - expected) / sqrt(max(1.0, expected))
    return Signals(sum(logprobs) / len(logprobs), deviation)


def uncalibrated(signals: Signals) -> float:
    """Return the tokens' mean probability (geometric), less for an odd length."""
    return exp(min(0.0, signals.mean) - LENGTH_COST * signals.length)


def with_issues(confidence: Confidence, issues: Iterable[OutputIssue]) -> Confidence:
    """Lower a confidence by the weight of the guards' issues."""
    weight = sum(issue.weight for issue in issues)
    return confidence._replace(value=confidence.value * max(0.0, 1 - weight / WORTHLESS_WEIGHT))


def combined(parts: Iterable[Confidence | None]) -> Confidence | None:
    """Return the mean of parts by their tokens; None without any."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    tokens = sum(part.tokens for part in known)
    return Confidence(sum(part.value * part.tokens for part in known) / tokens, tokens)


def rounded(confidence: Confidence | None) -> float:
    """Return the answer's number: 1 for a text without segments."""
    return CONFIDENCE_OF_UNCHANGED if confidence is None else round(confidence.value, CONFIDENCE_DIGITS)
