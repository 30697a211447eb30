"""Block builder: the inline runs between two borders of blocks."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.formats.document import has_words
from apiserver.formats.document_builder import DocumentBuilder, TextRun
from apiserver.formats.tag_nesting import FinishBlock, TagNester


class BlockBuilder:
    """Collects runs until a border, then places their block: one, with as few placeholders as can be."""

    def __init__(self, text: str, document: DocumentBuilder, finish: FinishBlock) -> None:
        self._text = text
        self._document = document
        self._finish = finish
        self._runs: list[TextRun] = []

    def add(self, run: TextRun) -> None:
        """Add the next run."""
        self._runs.append(run)

    def end_block(self, *, keep_space: bool = False) -> None:
        """End the block; white space in it becomes one space unless it is to be kept."""
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
