"""Piece: words, or something between words, at its place in a text."""

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

# Characters of a client that would be taken for marks.
_LIKE_A_MARK: Final = re.compile(f"([{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]+)")
_A_WORD: Final = re.compile(rf"[^\s{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]")


@dataclass(frozen=True, slots=True)
class TextRun:
    """Words, or something between words that a mark may stand for, at its place in the text.

    ``name`` says which opening and closing belong together. ``placed`` are the blocks inside it (an image's alternative
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
    """Say whether anything stands there but white space and characters that are taken for marks."""
    return _A_WORD.search(text) is not None


def replace_private_chars(words: str, marks: list[Placeholder]) -> str:
    """Return the words with a mark, added to the marks, in place of every run of characters taken for marks."""
    runs = _LIKE_A_MARK.split(words)
    for index in range(1, len(runs), 2):
        marks.append(Placeholder(PlaceholderKind.NAME, runs[index], runs[index], is_text=True))
        runs[index] = placeholder_char_or_empty(len(marks) - 1)
    return "".join(runs)


def placeholder_char_or_empty(index: int) -> str:
    """Stand for a mark; beyond the last there is none, and the block will not be made."""
    return placeholder_char(index) if index < MAX_PLACEHOLDERS else ""
