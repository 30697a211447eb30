"""Assembly: puts a text together from segments that come back in any order, and says what is final as it grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from apiserver.guards.issues import OutputIssue
from apiserver.segmentation.rejoin import separator
from apiserver.translation.planner import GapStep, Plan, TagStep, TextStep
from apiserver.translation.segment_translator import SegmentResult
from shared.protocol.messages import Notice

# The warning for a part of a text that stayed in the source language, the rest being translated.
UNTRANSLATED: Final = "segment-untranslated"
# Pieces are judged each for itself; how they read together no guard can tell.
TRANSLATED_IN_PIECES: Final = OutputIssue(
    "translated-in-pieces",
    "Part of the text did not come back right as a whole and was translated in pieces: it may read badly.",
    usable=True,
    weight=1,
)


class Assembler:
    """One text's answer in the making; mutable state: what is written, and what waits for an earlier segment."""

    def __init__(self, plan: Plan, on_delta: Callable[[str], None] | None) -> None:
        """Begin with what needs no engine; ``on_delta`` is given every further part once it is final."""
        self._plan = plan
        self._on_delta = on_delta
        self._made: dict[int, SegmentResult] = {}
        self._faults: list[tuple[OutputIssue, ...]] = []
        self._untranslated: list[OutputIssue] = []
        self._written: list[str] = []
        self._pending: list[GapStep | TagStep | str] = []
        self._before: TextStep | None = None
        self._before_words = ""
        self._next = 0
        self._held: list[str] = []
        self._usable = not plan.segment_indices

    def add(self, index: int, made: SegmentResult) -> None:
        """Take the segment of that step."""
        self._made[index] = made
        self._advance()

    @property
    def text(self) -> str | None:
        """The whole answer once every segment is done; None where none of them has usable words."""
        return "".join(self._written) if self._usable else None

    def close(self) -> None:
        """Write what follows the last segment.

        Raises:
            ValueError: a segment has not been done.
        """
        self._advance()
        if self._next < len(self._plan.steps):
            message = f"step {self._next} of {len(self._plan.steps)} is not done"
            raise ValueError(message)
        self._write("".join(part.text if isinstance(part, GapStep) else _syntax(part) for part in self._pending))
        self._pending.clear()

    def _advance(self) -> None:
        while self._next < len(self._plan.steps):
            step = self._plan.steps[self._next]
            if isinstance(step, TextStep):
                if step.translatable and self._next not in self._made:
                    return
                self._put(step, self._made.pop(self._next, None))
            else:
                self._pending.append(step)
            self._next += 1

    def _put(self, step: TextStep, made: SegmentResult | None) -> None:
        words = step.text
        if made is not None:
            self._note(made)
            words = made.text or step.text
        between = "".join(
            self._joint(part, step, words) if isinstance(part, GapStep) else _syntax(part) for part in self._pending
        )
        self._pending.clear()
        self._before, self._before_words = step, words
        self._write(between + step.block.write(words))

    def _joint(self, between: GapStep, after: TextStep, words: str) -> str:
        if self._before is None or between.block is not after.block or self._before.block is not after.block:
            return between.text
        pair = self._plan.pair
        return separator(between.text, self._before_words, words, pair.source, pair.target)

    def _write(self, text: str) -> None:
        self._written.append(text)
        if self._on_delta is None or not text:
            return
        if not self._usable:  # nothing of an answer that may turn out to be none
            self._held.append(text)
            return
        self._on_delta("".join([*self._held, text]))
        self._held.clear()

    def _note(self, made: SegmentResult) -> None:
        if made.text is None:
            self._untranslated += made.issues[:1]
            return
        self._usable = True
        self._faults.append((*made.issues, TRANSLATED_IN_PIECES) if made.stage == "pieces" else made.issues)

    def warnings(self) -> list[Notice]:
        """Return one notice per kind of fault that the answer has, with how many of its segments have it."""
        total = len(self._plan.segment_indices)
        if not self._usable:
            first = self._untranslated[0]
            return [Notice(code=first.code, message=first.message)]
        said: dict[str, str] = {}
        counted: Counter[str] = Counter()
        for faults in self._faults:
            for code, message in {fault.code: fault.message for fault in faults}.items():
                said.setdefault(code, message)
                counted[code] += 1
        for fault in self._untranslated:
            said.setdefault(UNTRANSLATED, f"Part of the text came back as it was. {fault.message}")
            counted[UNTRANSLATED] += 1
        return [
            Notice(code=code, message=message if total == 1 else f"{message} ({counted[code]} of {total} segments)")
            for code, message in said.items()
        ]


def _syntax(part: TagStep | str) -> str:
    return part if isinstance(part, str) else part.block.write(part.text)
