"""Stretch: the inline pieces between two borders of blocks."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.formats.document_builder import DocumentBuilder
from apiserver.formats.runs import TextRun, has_words
from apiserver.formats.tag_nesting import FinishBlock, TagNester


class BlockBuilder:
    """Collects pieces until a border, then places what they make: one block, with as few marks as can be."""

    def __init__(self, text: str, splice: DocumentBuilder, finish: FinishBlock) -> None:
        self._text = text
        self._splice = splice
        self._finish = finish
        self._pieces: list[TextRun] = []

    def add(self, piece: TextRun) -> None:
        """Take the next piece."""
        self._pieces.append(piece)

    def end_block(self, *, keep_space: bool = False) -> None:
        """End the block; white space in it becomes one space unless it is to be kept."""
        pieces, self._pieces = self._pieces, []
        if not any(piece.kind is None and has_words(piece.words) for piece in pieces):
            self._place_inner(pieces)
            return
        weave = TagNester(self._text, pieces, keep_space=keep_space)
        block = weave.block(self._finish)
        if block is None:
            self._place_inner(pieces)
            return
        self._place_inner(pieces[: weave.first])
        self._splice.place(block)
        self._place_inner(pieces[weave.past :])

    def _place_inner(self, pieces: Sequence[TextRun]) -> None:
        for piece in pieces:
            for placed in piece.inner_blocks:
                self._splice.place(placed)
