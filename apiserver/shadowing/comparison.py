"""Comparison: statistics of a candidate against the serving model, without texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import BaseModel

from apiserver.shadowing.agreement import chrf
from apiserver.shadowing.quantiles import QuantileHistogram
from shared.protocol.answers import Translation


class SideReport(BaseModel):
    """One model's part of a comparison.

    ``warnings`` counts texts by a warning's code. Seconds are those of requests, None without any.
    """

    warnings: dict[str, int]
    p50_s: float | None
    p95_s: float | None


class PairComparisonReport(BaseModel):
    """Comparison of one pair.

    ``agreement`` is the mean chrF (0..1), ``equal`` the share of equal translations; both None without texts.
    ``dropped`` and ``failed`` count texts that were not compared, by reason.
    """

    texts: int
    agreement: float | None
    equal: float | None
    serving: SideReport
    candidate: SideReport
    dropped: dict[str, int]
    failed: dict[str, int]


@dataclass(slots=True)
class ComparedText:
    """Result of one text: agreement, and the codes of both sides' warnings."""

    agreement: float
    equal: bool
    serving: list[str]
    candidate: list[str]

    @classmethod
    def of(cls, serving: Translation, candidate: Translation) -> ComparedText:
        """Compare two translations; a missing one counts as empty."""
        first, second = serving.translation or "", candidate.translation or ""
        return cls(
            chrf(first, second),
            first == second,
            [notice.code for notice in serving.warnings],
            [notice.code for notice in candidate.warnings],
        )


@dataclass(slots=True)
class SideStatistics:
    """One model's statistics for a pair."""

    warnings: Counter[str] = field(default_factory=Counter[str])
    seconds: QuantileHistogram = field(default_factory=QuantileHistogram)

    def report(self) -> SideReport:
        """Return the report."""
        return SideReport(warnings=dict(self.warnings), p50_s=self._quantile(0.5), p95_s=self._quantile(0.95))

    def _quantile(self, share: float) -> float | None:
        seconds = self.seconds.quantile(share)
        return None if seconds is None else round(seconds, 4)


@dataclass(slots=True)
class PairComparison:
    """Statistics of one pair, in bounded memory."""

    texts: int = 0
    equal: int = 0
    agreement: float = 0.0
    serving: SideStatistics = field(default_factory=SideStatistics)
    candidate: SideStatistics = field(default_factory=SideStatistics)
    dropped: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[str] = field(default_factory=Counter[str])

    def add(self, texts: Iterable[ComparedText], serving_seconds: float, candidate_seconds: float) -> None:
        """Add one request."""
        self.serving.seconds.add(serving_seconds)
        self.candidate.seconds.add(candidate_seconds)
        for text in texts:
            self.texts += 1
            self.equal += text.equal
            self.agreement += text.agreement
            self.serving.warnings.update(text.serving)
            self.candidate.warnings.update(text.candidate)

    def report(self) -> PairComparisonReport:
        """Return the report."""
        texts = self.texts
        return PairComparisonReport(
            texts=texts,
            agreement=round(self.agreement / texts, 4) if texts else None,
            equal=round(self.equal / texts, 4) if texts else None,
            serving=self.serving.report(),
            candidate=self.candidate.report(),
            dropped=dict(self.dropped),
            failed=dict(self.failed),
        )


class CandidateComparison:
    """Statistics of one candidate, by pair."""

    def __init__(self) -> None:
        self._by_pair: defaultdict[str, PairComparison] = defaultdict(PairComparison)

    def pair(self, pair: str) -> PairComparison:
        """Return a pair's statistics."""
        return self._by_pair[pair]

    def report(self) -> dict[str, PairComparisonReport]:
        """Return every pair's report."""
        return {pair: comparison.report() for pair, comparison in self._by_pair.items()}
