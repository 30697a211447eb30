"""Segment attempts: a segment's results so far, and its pieces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from apiserver.guards.quality_guard import PLACEHOLDER_LOST, OutputIssue
from apiserver.protection import placeholder_encoding
from apiserver.segmentation.segmenter import Segment, split_segment
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


# Thai: from here on, most of Unicode's scripts write words without spaces.
FIRST_WITHOUT_SPACES: Final = "\u0e00"


def cut_into_pieces(text: str, language: str, *, anywhere: bool) -> list[str]:
    """Return the parts of a segment: pieces, and the text between them.

    Joined, they are the segment. Cuts are at placeholders, else after a sentence or clause, else, if ``anywhere``,
    between words; never inside a word.
    """
    if next(placeholder_encoding.placeholders_in(text), None) is None:
        segments = split_segment(text, language)
        ends = [part.text[-1] for part in segments if isinstance(part, Segment)][:-1]
        if not anywhere and any(end.isalnum() for end in ends):
            return [text]
        parts = [part.text if isinstance(part, Segment) else part for part in segments]
        return [text] if any(map(_is_inside_word, parts, parts[1:], parts[2:])) else parts
    parts: list[str] = []
    words = ""
    for char in text:
        if next(placeholder_encoding.placeholders_in(char), None) is None:
            words += char
            continue
        parts += [*_split_outer_space(words), char]
        words = ""
    return [*parts, *_split_outer_space(words)]


def _is_inside_word(before: str, between: str, after: str) -> bool:
    if between or not before or not after:
        return False
    return all(char.isalpha() and char < FIRST_WITHOUT_SPACES for char in (before[-1], after[0]))


def _split_outer_space(words: str) -> list[str]:
    core = words.strip()
    if not core:
        return [words] if words else []
    head, tail = words[: len(words) - len(words.lstrip())], words[len(words.rstrip()) :]
    return [part for part in (head, core, tail) if part]
