"""Text runs: words, or something between words, at their place in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from apiserver.formats.document import (
    FIRST_PLACEHOLDER,
    LAST_PLACEHOLDER,
    MAX_PLACEHOLDERS,
    Placeholder,
    PlaceholderKind,
    placeholder_char,
)
from apiserver.formats.document_builder import PlacedBlock

# White space that words may hold as it is; any other that was written as a reference stays one.
PLAIN_SPACES: Final = frozenset(" \u00a0")
# Characters of a client that would be taken for placeholders.
_PLACEHOLDER_CHARS: Final = re.compile(f"([{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]+)")
_WORD: Final = re.compile(rf"[^\s{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]")


@dataclass(frozen=True, slots=True)
class TextRun:
    """Words, or something between words that a placeholder may stand for, at its place in the text.

    ``name`` says which opening and closing belong together. ``inner_blocks`` are the blocks inside it (an image's alternative
    text). ``target`` stands in the translation, where that differs from the text.
    """

    start: int
    end: int
    kind: PlaceholderKind | None = None  # None: words
    words: str = ""
    name: str = ""
    inner_blocks: tuple[PlacedBlock, ...] = ()
    target: str | None = None


def has_words(text: str) -> bool:
    """Say whether anything stands there but white space and placeholders' characters."""
    return _WORD.search(text) is not None


def replace_private_chars(words: str, placeholders: list[Placeholder]) -> str:
    """Replace every run of a client's private characters by a placeholder, added to the list."""
    parts = _PLACEHOLDER_CHARS.split(words)
    for index in range(1, len(parts), 2):
        placeholders.append(Placeholder(PlaceholderKind.NAME, parts[index], parts[index], is_text=True))
        parts[index] = placeholder_char_or_empty(len(placeholders) - 1)
    return "".join(parts)


def placeholder_char_or_empty(index: int) -> str:
    """Return a placeholder's character; none beyond the last, where the block is not built."""
    return placeholder_char(index) if index < MAX_PLACEHOLDERS else ""
