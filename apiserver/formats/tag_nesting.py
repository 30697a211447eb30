"""Weave: how the pieces of one stretch make a block of words, with as few marks as can be."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from apiserver.formats.document import MAX_PLACEHOLDERS, Block, Placeholder, PlaceholderKind
from apiserver.formats.document_builder import DocumentBuilder, PlacedBlock
from apiserver.formats.runs import TextRun, placeholder_char_or_empty, replace_private_chars

# HTML's white space (infra.spec.whatwg.org, "ASCII whitespace"), which a browser shows as one space; Markdown's too.
_SOFT_SPACE: Final = re.compile(r"[ \t\n\f\r]+")

# Completes a block that starts at an offset with how its translation is written.
FinishBlock = Callable[[int, Block], Block]


class TagNester:
    """Which pieces belong together, which can stay outside the block, which share one mark."""

    def __init__(self, text: str, pieces: Sequence[TextRun], *, keep_space: bool) -> None:
        self._text = text
        self._pieces = pieces
        self._keep_space = keep_space
        self._partners = _partners(pieces)
        self._weights = _weights(pieces)
        self._marks: list[Placeholder] = []
        self.first, self.past = self._trimmed()

    def block(self, finish: FinishBlock) -> PlacedBlock | None:
        """Return the pieces' block at its place; None where it would hold more marks than there are."""
        head, tail = self._pieces[self.first], self._pieces[self.past - 1]
        start = head.start + _margin(head, head.words.lstrip())
        end = tail.end - _margin(tail, tail.words.rstrip())
        text = self._woven().strip()
        if len(self._marks) > MAX_PLACEHOLDERS:
            return None
        block = Block(text, tuple(self._marks), self._text[start:end])
        return PlacedBlock(start, end, finish(start, block))

    def _trimmed(self) -> tuple[int, int]:
        """Leave out at both ends whatever the words between do not need around them."""
        first, past = 0, len(self._pieces)
        while True:
            if self._is_light(first):
                first += 1
            elif self._is_light(past - 1):
                past -= 1
            elif self._is_empty_pair(first):
                first = self._partners[first] + 1
            elif self._is_empty_pair(self._partners[past - 1]):
                past = self._partners[past - 1]
            elif self._is_pair_to_keep(first, past - 1):
                first, past = first + 1, past - 1
            else:
                return first, past

    def _is_pair_to_keep(self, first: int, last: int) -> bool:
        """Say whether these enclose all the words, and read in the translation as they do in the text."""
        return (
            self._pieces[first].kind is PlaceholderKind.OPEN
            and self._partners[first] == last
            and self._pieces[last].target is None
        )

    def _is_light(self, index: int) -> bool:
        piece = self._pieces[index]
        return not piece.words.strip() if piece.kind is None else self._is_alone(index)

    def _is_alone(self, index: int) -> bool:
        kind = self._pieces[index].kind
        return kind is PlaceholderKind.ALONE or (
            self._partners[index] < 0 and (kind is PlaceholderKind.OPEN or kind is PlaceholderKind.CLOSE)
        )

    def _is_empty_pair(self, index: int) -> bool:
        """Say whether this opens what closes again with no words in between."""
        if index < 0 or self._pieces[index].kind is not PlaceholderKind.OPEN or self._partners[index] < 0:
            return False
        return self._weights[self._partners[index]] == self._weights[index]

    def _woven(self) -> str:
        """Return the block's text, a character for each mark; the marks are in ``_marks`` then."""
        woven: list[str] = []
        closings: dict[int, tuple[int, int]] = {}  # first index of closings that share a mark: past them, their opening
        at = self.first
        while at < self.past:
            begin, kind = at, self._pieces[at].kind
            if kind is None:
                while at < self.past and self._pieces[at].kind is None:
                    at += 1
                woven.append(self._words(begin, at))
            elif kind is PlaceholderKind.NAME:
                while at < self.past and self._pieces[at].kind is PlaceholderKind.NAME:
                    at += 1
                woven.append(self._mark(begin, at, kind))
            elif (past_alone := self._past_alone(at)) > at:
                at = past_alone
                woven.append(self._mark(begin, at, PlaceholderKind.ALONE))
            elif kind is PlaceholderKind.OPEN:
                while (
                    self._partners[at + 1] == self._partners[at] - 1
                    and self._pieces[at + 1].kind is PlaceholderKind.OPEN
                ):
                    at += 1
                closings[self._partners[at]] = self._partners[begin] + 1, len(self._marks)
                at += 1
                woven.append(self._mark(begin, at, kind))
            else:
                at, opening = closings[at]
                self._marks[opening] = replace(self._marks[opening], partner=len(self._marks))
                woven.append(self._mark(begin, at, kind, partner=opening))
        return "".join(woven)

    def _past_alone(self, at: int) -> int:
        """Return the index past what can share one mark with neighbours that stand alone, white space between included."""
        begin = at
        while at < self.past:
            if self._is_empty_pair(at):
                at = self._partners[at] + 1
            elif self._is_alone(at) or (at > begin and self._is_space_before_alone(at)):
                at += 1
            else:
                break
        return at

    def _is_space_before_alone(self, at: int) -> bool:
        return at + 1 < self.past and self._is_light(at) and (self._is_alone(at + 1) or self._is_empty_pair(at + 1))

    def _words(self, begin: int, past: int) -> str:
        words = "".join(piece.words for piece in self._pieces[begin:past])
        if not self._keep_space:
            words = _SOFT_SPACE.sub(" ", words)
        return replace_private_chars(words, self._marks)

    def _mark(self, begin: int, past: int, kind: PlaceholderKind, partner: int | None = None) -> str:
        pieces = self._pieces[begin:past]
        start, end = pieces[0].start, pieces[-1].end
        source = target = self._text[start:end]
        if any(piece.target is not None for piece in pieces):
            target = "".join(
                self._text[piece.start : piece.end] if piece.target is None else piece.target for piece in pieces
            )
        inside = DocumentBuilder(self._text, start, end)
        for piece in pieces:
            for placed in piece.inner_blocks:
                inside.place(placed)
        parts = inside.parts() if any(piece.inner_blocks for piece in pieces) else ()
        self._marks.append(Placeholder(kind, source, target, partner, inner_parts=parts))
        return placeholder_char_or_empty(len(self._marks) - 1)


def _margin(piece: TextRun, trimmed: str) -> int:
    """Return how many characters of the text were trimmed off a piece; 0 where its words are written otherwise."""
    is_literal = piece.kind is None and len(piece.words) == piece.end - piece.start
    return len(piece.words) - len(trimmed) if is_literal else 0


def _partners(pieces: Sequence[TextRun]) -> list[int]:
    """Return for each piece the index of what closes or opens it, -1 for none; pairs never overlap."""
    partners = [-1] * len(pieces)
    opened: list[int] = []
    names: dict[str, int] = {}  # how many are open of each name, so that a stray closing costs nothing
    for index, piece in enumerate(pieces):
        if piece.kind is PlaceholderKind.OPEN:
            opened.append(index)
            names[piece.name] = names.get(piece.name, 0) + 1
        elif piece.kind is PlaceholderKind.CLOSE and names.get(piece.name, 0) > 0:
            while True:
                opening = opened.pop()
                name = pieces[opening].name
                names[name] -= 1
                if name == piece.name:
                    break
            partners[opening], partners[index] = index, opening
    return partners


def _weights(pieces: Sequence[TextRun]) -> list[int]:
    """Return for each piece how many before it are read as words."""
    weights = [0]
    for piece in pieces:
        counts = piece.kind is PlaceholderKind.NAME or (piece.kind is None and bool(piece.words.strip()))
        weights.append(weights[-1] + counts)
    return weights
