"""Splice: blocks at their places in a text; everything between them stays as it stands."""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.formats.document import Block, Part


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block and where its source stands in the text."""

    start: int
    end: int
    block: Block


class DocumentBuilder:
    """Collects blocks in the order of their places between two offsets of a text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._at = start
        self._end = end
        self._parts: list[Part] = []

    def place(self, placed: PlacedBlock) -> None:
        """Put a block in its place, behind all that were placed before."""
        self._keep_until(placed.start)
        self._parts.append(placed.block)
        self._at = placed.end

    def parts(self) -> tuple[Part, ...]:
        """Return everything between the two offsets, blocks and what stands between them; the splice is over."""
        self._keep_until(self._end)
        return tuple(self._parts)

    def _keep_until(self, offset: int) -> None:
        if self._at < offset:
            self._parts.append(self._text[self._at : offset])
            self._at = offset
