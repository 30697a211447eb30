"""Document builder: runs and blocks at their places in a text; what is between them stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from apiserver.formats.document import (
    MAX_PLACEHOLDERS,
    Block,
    Part,
    Placeholder,
    PlaceholderKind,
    has_words,
    replace_private_chars,
)

# White space that words may hold as it is; any other that was written as a reference stays one.
PLAIN_SPACES: Final = frozenset(" \u00a0")


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block and where its source stands in the text."""

    start: int
    end: int
    block: Block


@dataclass(frozen=True, slots=True)
class TextRun:
    """Words, or something between words that a placeholder may stand for, at its place in the text.

    ``name`` pairs openings and closings. ``inner_blocks`` are inside it; ``target`` differs from the text where it is
    set.
    """

    start: int
    end: int
    kind: PlaceholderKind | None = None  # None: words
    words: str = ""
    name: str = ""
    inner_blocks: tuple[PlacedBlock, ...] = ()
    target: str | None = None


def word_blocks(
    text: str, start: int, end: int, escape: Callable[[str], str], words: str | None = None
) -> tuple[PlacedBlock, ...]:
    """Return the block of words inside syntax (``words`` where they read otherwise); none where nothing is to translate."""
    raw = text[start:end]
    before, behind = len(raw) - len(raw.lstrip()), len(raw) - len(raw.rstrip())
    words = raw if words is None else words
    placeholders: list[Placeholder] = []
    words = replace_private_chars(words[before : len(words) - behind], placeholders)
    if not has_words(words) or len(placeholders) > MAX_PLACEHOLDERS:
        return ()
    block = Block(words, tuple(placeholders), raw[before : len(raw) - behind], escape)
    return (PlacedBlock(start + before, end - behind, block),)


class DocumentBuilder:
    """Collects blocks in the order of their places between two offsets of a text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._position = start
        self._end = end
        self._parts: list[Part] = []

    def place(self, block: PlacedBlock) -> None:
        """Put a block in its place, behind all others so far."""
        self._keep_until(block.start)
        self._parts.append(block.block)
        self._position = block.end

    def parts(self) -> tuple[Part, ...]:
        """Return the blocks and the text between them, up to the end offset."""
        self._keep_until(self._end)
        return tuple(self._parts)

    def _keep_until(self, offset: int) -> None:
        if self._position < offset:
            self._parts.append(self._text[self._position : offset])
            self._position = offset
