"""Document builder: puts blocks in their places between verbatim text."""

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

# White space that words may contain; other references stay references.
PLAIN_SPACES: Final = frozenset(" \u00a0")


@dataclass(slots=True)
class PlacedBlock:
    """A block and the place of its source in the text."""

    start: int
    end: int
    block: Block


@dataclass(slots=True)
class TextRun:
    """Words, or syntax that may become a placeholder, with its place.

    ``name`` pairs openings with closings. ``target``, if set, replaces the text in the translation.
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
    """Return the block of words inside syntax; empty if there are none.

    ``words``, if given, differ from the source (character references).
    """
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
    """Collects the blocks between two offsets of a text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._position = start
        self._end = end
        self._parts: list[Part] = []

    def place(self, block: PlacedBlock) -> None:
        """Add a block behind all others."""
        self._keep_until(block.start)
        self._parts.append(block.block)
        self._position = block.end

    def parts(self) -> tuple[Part, ...]:
        """Return the blocks and the text between, up to the end."""
        self._keep_until(self._end)
        return tuple(self._parts)

    def _keep_until(self, offset: int) -> None:
        if self._position < offset:
            self._parts.append(self._text[self._position : offset])
            self._position = offset
