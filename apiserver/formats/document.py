"""Document: a text taken apart into what stays as it is and blocks of words, and how it goes together again. Pure.

Inside a block, whatever must not be translated (an inline tag, a placeholder, a name) is a :class:`Mark`, and one
character of a private plane stands for it. So a block is a plain string for everything between the parser and the
engine: sentences are found in it, it is cut and joined, and its marks can be counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Planes 15 and 16 are for private use; characters of theirs that a client's text holds become marks themselves
# (placeholders.py), so a mark's character never means anything else.
FIRST_PLACEHOLDER: Final = 0xF0000
LAST_PLACEHOLDER: Final = 0x10FFFD
MAX_PLACEHOLDERS: Final = LAST_PLACEHOLDER - FIRST_PLACEHOLDER + 1
PLACEHOLDER_CHAR: Final = re.compile(f"([{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}])")


class PlaceholderKind(StrEnum):
    """What a mark is for the words around it."""

    OPEN = "open"  # begins a stretch of words: <b>
    CLOSE = "close"  # ends it: </b>
    ALONE = "alone"  # stands by itself: <br>, <img>
    NAME = "name"  # stands for a word or several: a placeholder, an address, a protected name, a term
    QUANTITY = "quantity"  # stands for a number with its unit
    EMOJI = "emoji"  # stands for nothing that a grammar needs: an emoji, a bullet


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Something that comes back literally: ``source`` stands in the text, ``target`` in its translation.

    They differ only for a term. ``partner`` is the index in the block's marks of the mark that closes (or opens) what
    this one opens (or closes); None where it stands alone or its partner is in another block. ``words`` says that both
    are words like those around them, for the block's ``escape`` to write; else they are the document's own syntax.
    ``inside`` is the target taken apart where it holds words of its own (an image's alternative text): the blocks in it
    are translated for themselves, and what its parts make then is the target; empty where it holds none. No block in it
    has a mark with anything inside.
    """

    kind: PlaceholderKind
    source: str
    target: str
    partner: int | None = None
    is_text: bool = False
    inner_parts: tuple[Part, ...] = ()


def placeholder_char(index: int) -> str:
    """Return the character that stands for a block's mark of that index."""
    return chr(FIRST_PLACEHOLDER + index)


def placeholder_index(char: str) -> int | None:
    """Return which mark a character stands for; None for any other character."""
    code = ord(char)
    return code - FIRST_PLACEHOLDER if FIRST_PLACEHOLDER <= code <= LAST_PLACEHOLDER else None


def without_placeholders(text: str) -> str:
    """Return the text with a space for each mark."""
    return PLACEHOLDER_CHAR.sub(" ", text)


def unescaped(text: str) -> str:
    """Return the text: the way of a format that needs no escapes."""
    return text


# What is written in the document's format, and the mark that it is; None for words.
WrittenRun = tuple[str, Placeholder | None]


def concatenate(pieces: Sequence[WrittenRun]) -> str:
    """Put words and marks together: the way of a format in which neighbours do not change each other's meaning."""
    return "".join(text for text, _ in pieces)


@dataclass(frozen=True, slots=True)
class Block:
    """Words that belong together, with marks in them; ``escape`` writes translated words in the document's format.

    ``text`` holds characters as a reader sees them (no entities, no backslashes) and a mark's character for each mark.
    ``escape`` is never given a mark. ``source`` is how the block was written, for when it has to stay as it was.
    ``join`` puts escaped words and marks together.
    """

    text: str
    placeholders: tuple[Placeholder, ...]
    source: str
    escape: Callable[[str], str] = unescaped
    join: Callable[[Sequence[WrittenRun]], str] = concatenate

    def write(self, text: str) -> str:
        """Return a translation of the block, or a part of one, as it stands in the document.

        ``text`` holds characters of this block's marks and of no others; their targets come in their place.
        """
        if not self.placeholders:
            return self.join([(self.escape(text), None)])
        pieces: list[WrittenRun] = []
        for piece in PLACEHOLDER_CHAR.split(text):
            index = placeholder_index(piece) if len(piece) == 1 else None
            if index is not None:
                mark = self.placeholders[index]
                pieces.append((self.escape(mark.target) if mark.is_text else mark.target, mark))
            elif piece:
                pieces.append((self.escape(piece), None))
        return self.join(pieces)


# A string is verbatim: it comes back as it is.
Part = str | Block


@dataclass(frozen=True, slots=True)
class Document:
    """The parts of a text in order; verbatim parts and the blocks' sources joined are the text itself."""

    parts: tuple[Part, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block in order; those inside a block's marks stand before it."""
        return _blocks(self.parts)


def _blocks(parts: tuple[Part, ...]) -> tuple[Block, ...]:
    found: list[Block] = []
    for part in parts:
        if isinstance(part, Block):
            for mark in part.placeholders:
                found += _blocks(mark.inner_parts)
            found.append(part)
    return tuple(found)
