"""Segment attempts: a segment's results so far, and the best of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from apiserver.guards.issues import PLACEHOLDER_LOST, OutputIssue
from apiserver.translation.confidence import Confidence

Stage = Literal["first", "masked", "second", "sampled", "pieces", "best", "none"]


@dataclass(slots=True)
class SegmentResult:
    """A segment's translation with its placeholders; no text if none is usable.

    ``issues`` remain, or say why there is no text. ``issue_codes`` are from every attempt. ``stage`` gave the text.
    ``alternatives`` are further outputs without issues. ``confidence`` is 0 without a text.
    """

    text: str | None
    issues: tuple[OutputIssue, ...] = ()
    issue_codes: tuple[str, ...] = ()
    stage: Stage = "first"
    alternatives: tuple[SegmentResult, ...] = ()
    confidence: Confidence | None = None

    @property
    def weight(self) -> int:
        """The sum of the remaining issues' weights."""
        return sum(issue.weight for issue in self.issues)


@dataclass(slots=True)
class SegmentAttempts:
    """The attempts at one segment so far."""

    candidates: list[SegmentResult] = field(default_factory=list["SegmentResult"])
    issue_codes: list[str] = field(default_factory=list[str])

    def add(self, candidate: SegmentResult) -> bool:
        """Add a candidate; return whether another try is not needed."""
        self.candidates.append(candidate)
        self.issue_codes += candidate.issue_codes
        return candidate.text is not None and not any(issue.retried for issue in candidate.issues)

    @property
    def lost_values(self) -> tuple[OutputIssue, ...]:
        """The best candidate's issues, if all name lost words."""
        issues = self.best().issues if self.has_text else ()
        return issues if all(issue.values for issue in issues) else ()

    @property
    def has_text(self) -> bool:
        """Whether a candidate has a usable text."""
        return any(candidate.text is not None for candidate in self.candidates)

    def result(self, stage: Stage) -> SegmentResult:
        """Return the last candidate as the result."""
        last = self.candidates[-1]
        issue_codes = tuple(dict.fromkeys(self.issue_codes))
        return SegmentResult(last.text, last.issues, issue_codes, stage, confidence=last.confidence)

    def best(self) -> SegmentResult:
        """Return the candidate with the lightest issues, without text if unusable."""
        usable = [candidate for candidate in self.candidates if candidate.text is not None]
        issue_codes = tuple(dict.fromkeys(self.issue_codes))
        if not usable:
            # Issues that make the text unusable come first. Without a candidate, no encoding had the placeholders.
            issues = sorted(self.candidates[0].issues, key=lambda issue: issue.usable) if self.candidates else ()
            confidence = self.candidates[0].confidence if self.candidates else None
            return SegmentResult(None, tuple(issues) or (PLACEHOLDER_LOST,), issue_codes, "none", confidence=confidence)
        best = min(usable, key=lambda candidate: candidate.weight)
        return SegmentResult(best.text, best.issues, issue_codes, "best", confidence=best.confidence)
