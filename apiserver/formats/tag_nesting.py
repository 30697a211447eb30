"""Tag nesting: makes a block of runs, with few placeholders."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Final

from apiserver.formats.document import (
    MAX_PLACEHOLDERS,
    Block,
    DocumentBuilder,
    Part,
    PlacedBlock,
    Placeholder,
    PlaceholderKind,
    TextRun,
    has_words,
    placeholder_char_or_empty,
    replace_private_chars,
)

# White space of HTML (infra.spec.whatwg.org, "ASCII whitespace") and Markdown, displayed as one space.
_SOFT_SPACE: Final = re.compile(r"[ \t\n\f\r]+")

# Adds to a block, which starts at the offset, how its translation is written.
FinishBlock = Callable[[int, Block], Block]


class TagNester:
    """Pairs tags, leaves outer ones out of the block, and merges neighbours.

    The block has the runs from ``first`` up to ``end``.
    """

    def __init__(self, text: str, runs: Sequence[TextRun], *, keep_space: bool) -> None:
        self._text = text
        self._runs = runs
        self._keep_space = keep_space
        self._partners = _partners(runs)
        self._word_counts = _word_counts(runs)
        self._placeholders: list[Placeholder] = []
        # For closings that share a placeholder, by the first one: the index behind them, and the opening placeholder.
        self._closings: dict[int, tuple[int, int]] = {}
        bounds = (0, len(runs))
        while (trimmed := self._trim_once(*bounds)) != bounds:
            bounds = trimmed
        self.first, self.end = bounds

    def block(self, finish: FinishBlock) -> PlacedBlock | None:
        """Return the block at its place; None above MAX_PLACEHOLDERS."""
        head, tail = self._runs[self.first], self._runs[self.end - 1]
        start = head.start + _trimmed_length(head, head.words.lstrip())
        end = tail.end - _trimmed_length(tail, tail.words.rstrip())
        parts = StringIO(newline="")  # a list of parts takes 80 bytes for each placeholder
        position = self.first
        while position < self.end:
            part, position = self._next_part(position)
            parts.write(part)
        if len(self._placeholders) > MAX_PLACEHOLDERS:
            return None
        block = Block(parts.getvalue().strip(), tuple(self._placeholders), self._text[start:end])
        return PlacedBlock(start, end, finish(start, block))

    def _trim_once(self, first: int, end: int) -> tuple[int, int]:
        last = end - 1
        if self._is_droppable(first):
            return first + 1, end
        if self._is_droppable(last):
            return first, last
        if self._is_empty_pair(first):
            return self._partners[first] + 1, end
        if self._is_empty_pair(self._partners[last]):
            return first, self._partners[last]
        opening, closing = self._runs[first], self._runs[last]
        # A pair around all words that the translation does not change can stay outside.
        if opening.kind is PlaceholderKind.OPEN and self._partners[first] == last and closing.target is None:
            return first + 1, last
        return first, end

    def _is_droppable(self, index: int) -> bool:
        run = self._runs[index]
        return not run.words.strip() if run.kind is None else self._is_alone(index)

    def _is_alone(self, index: int) -> bool:
        kind = self._runs[index].kind
        return kind is PlaceholderKind.ALONE or (
            self._partners[index] < 0 and (kind is PlaceholderKind.OPEN or kind is PlaceholderKind.CLOSE)
        )

    def _is_empty_pair(self, index: int) -> bool:
        if index < 0 or self._runs[index].kind is not PlaceholderKind.OPEN or self._partners[index] < 0:
            return False
        return self._word_counts[self._partners[index]] == self._word_counts[index]

    def _next_part(self, start: int) -> tuple[str, int]:
        kind = self._runs[start].kind
        if kind is None:
            end = self._end_of_kind(start)
            return self._words(start, end), end
        if kind is PlaceholderKind.NAME:
            end = self._end_of_kind(start)
            return self._add_placeholder(start, end, kind), end
        if (end := self._end_of_alone(start)) > start:
            return self._add_placeholder(start, end, PlaceholderKind.ALONE), end
        if kind is PlaceholderKind.OPEN:
            end = self._end_of_openings(start)
            self._closings[self._partners[end - 1]] = self._partners[start] + 1, len(self._placeholders)
            return self._add_placeholder(start, end, kind), end
        end, opening = self._closings.pop(start)
        self._placeholders[opening].partner = len(self._placeholders)
        return self._add_placeholder(start, end, kind, partner=opening), end

    def _end_of_kind(self, start: int) -> int:
        end = start
        while end < self.end and self._runs[end].kind is self._runs[start].kind:
            end += 1
        return end

    def _end_of_openings(self, start: int) -> int:
        """Return the index behind openings that also close together."""
        last = start
        while (
            self._partners[last + 1] == self._partners[last] - 1 and self._runs[last + 1].kind is PlaceholderKind.OPEN
        ):
            last += 1
        return last + 1

    def _end_of_alone(self, start: int) -> int:
        """Return the index behind adjacent runs without partner, and their spaces."""
        end = start
        while end < self.end:
            if self._is_empty_pair(end):
                end = self._partners[end] + 1
            elif self._is_alone(end) or (end > start and self._is_space_before_alone(end)):
                end += 1
            else:
                break
        return end

    def _is_space_before_alone(self, index: int) -> bool:
        following = index + 1
        return (
            following < self.end
            and self._is_droppable(index)
            and (self._is_alone(following) or self._is_empty_pair(following))
        )

    def _words(self, start: int, end: int) -> str:
        words = "".join(run.words for run in self._runs[start:end])
        if not self._keep_space:
            words = _SOFT_SPACE.sub(" ", words)
        return replace_private_chars(words, self._placeholders)

    def _add_placeholder(self, first: int, end: int, kind: PlaceholderKind, partner: int | None = None) -> str:
        runs = self._runs[first:end]
        text_start, text_end = runs[0].start, runs[-1].end
        source = target = self._text[text_start:text_end]
        inner_parts: tuple[Part, ...] = ()
        for run in runs:
            if run.target is not None:
                target = "".join(self._text[run.start : run.end] if run.target is None else run.target for run in runs)
                break
        for run in runs:
            if run.inner_blocks:
                inner_parts = self._inner_parts(runs)
                break
        self._placeholders.append(Placeholder(kind, source, target, partner, inner_parts=inner_parts))
        return placeholder_char_or_empty(len(self._placeholders) - 1)

    def _inner_parts(self, runs: Sequence[TextRun]) -> tuple[Part, ...]:
        document = DocumentBuilder(self._text, runs[0].start, runs[-1].end)
        for run in runs:
            for block in run.inner_blocks:
                document.place(block)
        return document.parts()


def _trimmed_length(run: TextRun, trimmed: str) -> int:
    """Return the number of characters trimmed; 0 if words and source differ."""
    is_literal = run.kind is None and len(run.words) == run.end - run.start
    return len(run.words) - len(trimmed) if is_literal else 0


def _partners(runs: Sequence[TextRun]) -> array[int]:
    """Return each run's partner index, or -1; pairs never overlap."""
    partners = array("i", [-1]) * len(runs)
    openings: list[int] = []
    open_names: Counter[str] = Counter()  # finds a stray closing in constant time
    for index, run in enumerate(runs):
        if run.kind is PlaceholderKind.OPEN:
            openings.append(index)
            open_names[run.name] += 1
        elif run.kind is PlaceholderKind.CLOSE and open_names[run.name] > 0:
            opening = _pop_opening(runs, openings, open_names, run.name)
            partners[opening], partners[index] = index, opening
    return partners


def _pop_opening(runs: Sequence[TextRun], openings: list[int], open_names: Counter[str], name: str) -> int:
    """Pop the last opening of that name, and all openings inside it."""
    while True:
        opening = openings.pop()
        open_names[runs[opening].name] -= 1
        if runs[opening].name == name:
            return opening


def _word_counts(runs: Sequence[TextRun]) -> array[int]:
    counts, count = array("i", [0]), 0
    for run in runs:
        count += run.kind is PlaceholderKind.NAME or (run.kind is None and bool(run.words.strip()))
        counts.append(count)
    return counts


class BlockBuilder:
    """Collects runs up to a border, then places their block."""

    def __init__(self, text: str, document: DocumentBuilder, finish: FinishBlock) -> None:
        self._text = text
        self._document = document
        self._finish = finish
        self._runs: list[TextRun] = []

    def add(self, run: TextRun) -> None:
        """Add the next run."""
        self._runs.append(run)

    def end_block(self, *, keep_space: bool = False) -> None:
        """Place the block; its white space becomes single spaces unless ``keep_space``."""
        runs, self._runs = self._runs, []
        if not any(run.kind is None and has_words(run.words) for run in runs):
            self._place_inner_blocks(runs)
            return
        nester = TagNester(self._text, runs, keep_space=keep_space)
        block = nester.block(self._finish)
        if block is None:
            self._place_inner_blocks(runs)
            return
        self._place_inner_blocks(runs[: nester.first])
        self._document.place(block)
        self._place_inner_blocks(runs[nester.end :])

    def _place_inner_blocks(self, runs: Sequence[TextRun]) -> None:
        for run in runs:
            for block in run.inner_blocks:
                self._document.place(block)
