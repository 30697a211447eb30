"""Assembler: joins segments that finish in any order, and reports final parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from io import StringIO
from typing import Final

from apiserver.guards.quality_guard import OutputIssue
from apiserver.segmentation.rejoin import separator
from apiserver.translation.confidence import Confidence, combined
from apiserver.translation.planner import GapStep, Plan, TagStep, TextStep
from apiserver.translation.segment_attempts import SegmentResult
from shared.protocol.answers import MAX_UNCERTAIN, Notice, bounded_values

# The warning for a part that stayed in the source language while the rest was translated.
UNTRANSLATED: Final = "segment-untranslated"
# No guard sees how pieces read together.
TRANSLATED_IN_PIECES: Final = OutputIssue(
    "translated-in-pieces",
    "Part of the text could only be translated in pieces: it may read badly.",
    usable=True,
    weight=1,
)

# Steps, and their characters, written before the event loop may run: 10 ms, in Markdown 3 µs a character.
STEPS_AT_ONCE: Final = 500
CHARS_AT_ONCE: Final = 2000


class Assembler:
    """Assembly of one text's translation from its segments.

    ``on_delta`` gets every further part once it is final; parts that need no engine come with the first segment.
    Segments of less confidence than ``uncertain_below`` are noted in ``uncertain``: [start, end) of their characters.
    Mutable state: the parts written, and those that wait for an earlier segment.
    """

    def __init__(
        self, plan: Plan, on_delta: Callable[[str], None] | None, uncertain_below: float | None = None
    ) -> None:
        self._plan = plan
        self._on_delta = on_delta
        self._uncertain_below = uncertain_below
        self.uncertain: list[tuple[int, int]] = []
        self._results: dict[int, SegmentResult] = {}
        self._prepared: dict[int, str] = {}
        self._issues: list[tuple[OutputIssue, ...]] = []
        self._untranslated: list[OutputIssue] = []
        self._confidences: list[Confidence | None] = []
        self._written = StringIO(newline="")
        self._pending: list[GapStep | str] = []
        self._previous: TextStep | None = None
        self._previous_text = ""
        self._next = 0
        self._withheld: list[str] = []
        self._usable = not plan.segment_indices

    def prepare(self, index: int, written: str) -> None:
        """Take what a long step writes, because it was written elsewhere."""
        self._prepared[index] = written

    def add(self, index: int, result: SegmentResult) -> None:
        """Add the result of a step's segment."""
        self._results[index] = result
        self.advance()

    def advance(self) -> bool:
        """Write some steps that are done; return whether more are."""
        steps, last, chars = self._plan.steps, min(self._next + STEPS_AT_ONCE, len(self._plan.steps)), 0
        while self._next < last and chars < CHARS_AT_ONCE:
            step = steps[self._next]
            if isinstance(step, TextStep):
                if step.translatable and self._next not in self._results:
                    return False
                chars += self._append(step, self._results.pop(self._next, None))
            elif isinstance(step, TagStep):
                self._pending.append(self._written_step(step, step.text))
                chars += len(step.text)
            else:
                self._pending.append(step)
            self._next += 1
        return self._next < len(steps)

    @property
    def text(self) -> str | None:
        """The whole translation; None if no segment has a usable text."""
        return self._written.getvalue() if self._usable else None

    @property
    def confidence(self) -> Confidence | None:
        """The mean of the segments' confidences, if they have any."""
        return combined(self._confidences)

    def close(self) -> None:
        """Write the rest after the last segment.

        Raises:
            ValueError: a segment is not done.
        """
        while self.advance():
            pass
        if self._next < len(self._plan.steps):
            message = f"step {self._next} of {len(self._plan.steps)} is not done"
            raise ValueError(message)
        self._write("".join(step.text if isinstance(step, GapStep) else step for step in self._pending))
        self._pending.clear()

    def _append(self, step: TextStep, result: SegmentResult | None) -> int:
        """Write a text's step; return its characters, 0 for a prepared one."""
        text, is_prepared = step.text, self._next in self._prepared
        if result is not None:
            self._record(result)
            text = result.text or step.text
        between = "".join(
            self._separator(pending, step, text) if isinstance(pending, GapStep) else pending
            for pending in self._pending
        )
        self._pending.clear()
        self._previous, self._previous_text = step, text
        written = self._written_step(step, text)
        if result is not None:
            start = self._written.tell() + len(between)
            self._note_doubt(result, start, start + len(written))
        self._write(between + written)
        return 0 if is_prepared else len(text)

    def _note_doubt(self, result: SegmentResult, start: int, end: int) -> None:
        least, confidence = self._uncertain_below, result.confidence
        if least is None or result.text is None or confidence is None or confidence.value >= least:
            return
        if len(self.uncertain) == MAX_UNCERTAIN:
            start = self.uncertain.pop()[0]
        self.uncertain.append((start, end))

    def _written_step(self, step: TagStep | TextStep, text: str) -> str:
        prepared = self._prepared.pop(self._next, None)
        return step.block.write(text) if prepared is None else prepared

    def _separator(self, gap: GapStep, following: TextStep, text: str) -> str:
        if self._previous is None or gap.block is not following.block or self._previous.block is not following.block:
            return gap.text
        pair = self._plan.pair
        return separator(gap.text, self._previous_text, text, pair.source, pair.target)

    def _write(self, text: str) -> None:
        self._written.write(text)
        if self._on_delta is None or not text:
            return
        if not self._usable:  # send nothing while the whole text may still be unusable
            self._withheld.append(text)
            return
        self._on_delta("".join([*self._withheld, text]))
        self._withheld.clear()

    def _record(self, result: SegmentResult) -> None:
        self._confidences.append(result.confidence)
        if result.text is None:
            self._untranslated += result.issues[:1]
            return
        self._usable = True
        issues = (*result.issues, TRANSLATED_IN_PIECES) if result.stage == "pieces" else result.issues
        if issues:
            self._issues.append(issues)

    def warnings(self) -> list[Notice]:
        """Return a notice per kind of issue: segments and values."""
        total = len(self._plan.segment_indices)
        if not self._usable:
            first = self._untranslated[0]
            return [Notice(code=first.code, message=first.message)]
        messages: dict[str, str] = {}
        values: dict[str, list[str]] = {}
        counts: Counter[str] = Counter()
        for issues in self._issues:
            for code, message in {issue.code: issue.message for issue in issues}.items():
                messages.setdefault(code, message)
                counts[code] += 1
            for issue in issues:
                values[issue.code] = bounded_values((*values.get(issue.code, ()), *issue.values))
        for issue in self._untranslated:
            messages.setdefault(UNTRANSLATED, f"Part of the text was left untranslated. {issue.message}")
            counts[UNTRANSLATED] += 1
        return [
            Notice(
                code=code,
                message=message if total == 1 else f"{message} ({counts[code]} of {total} segments)",
                values=values.get(code, []),
            )
            for code, message in messages.items()
        ]
