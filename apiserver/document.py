"""Document: a text taken apart into what stays as it is and blocks of words, and how it goes together again. Pure.

Inside a block, whatever must not be translated (an inline tag, a placeholder, a name) is a :class:`Mark`, and one
character of a private plane stands for it. So a block is a plain string for everything between the parser and the
engine: sentences are found in it, it is cut and joined, and its marks can be counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Planes 15 and 16 are for private use; characters of theirs that a client's text holds become marks themselves
# (placeholders.py), so a mark's character never means anything else.
FIRST_MARK: Final = 0xF0000
LAST_MARK: Final = 0x10FFFD
MAX_MARKS: Final = LAST_MARK - FIRST_MARK + 1


class MarkKind(StrEnum):
    """What a mark is for the words around it."""

    OPEN = "open"  # begins a stretch of words: <b>
    CLOSE = "close"  # ends it: </b>
    ALONE = "alone"  # stands by itself: <br>, <img>
    NAME = "name"  # stands for a word or several: a placeholder, an address, a protected name, a term
    QUANTITY = "quantity"  # stands for a number with its unit


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that comes back literally: ``source`` stands in the text, ``target`` in its translation.

    They differ only for a term. ``partner`` is the index in the block's marks of the mark that closes (or opens) what
    this one opens (or closes); None where it stands alone or its partner is in another block. ``words`` says that both
    are words like those around them, for the block's ``escape`` to write; else they are the document's own syntax.
    """

    kind: MarkKind
    source: str
    target: str
    partner: int | None = None
    words: bool = False


def mark_char(index: int) -> str:
    """Return the character that stands for a block's mark of that index."""
    return chr(FIRST_MARK + index)


def mark_index(char: str) -> int | None:
    """Return which mark a character stands for; None for any other character."""
    code = ord(char)
    return code - FIRST_MARK if FIRST_MARK <= code <= LAST_MARK else None


def as_it_is(text: str) -> str:
    """Return the text: the way of a format that needs no escapes."""
    return text


@dataclass(frozen=True, slots=True)
class Block:
    """Words that belong together, with marks in them; ``escape`` writes translated words in the document's format.

    ``text`` holds characters as a reader sees them (no entities, no backslashes) and a mark's character for each mark.
    ``escape`` is never given a mark. ``source`` is how the block was written, for when it has to stay as it was.
    """

    text: str
    marks: tuple[Mark, ...]
    source: str
    escape: Callable[[str], str] = as_it_is


# A string is verbatim: it comes back as it is.
Part = str | Block


@dataclass(frozen=True, slots=True)
class Document:
    """The parts of a text in order; verbatim parts and the blocks' sources joined are the text itself."""

    parts: tuple[Part, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks in order."""
        return tuple(part for part in self.parts if isinstance(part, Block))
