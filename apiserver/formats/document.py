"""Document: a text as blocks of words and what stays as it is between them, and how it is joined again.

In a block, whatever must not be translated (a tag, a name) is a :class:`Placeholder`, for which one character of a
private plane stands: a block is a plain string between the parser and the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Planes 15 and 16 are for private use; characters of theirs that a client's text holds become placeholders themselves
# (protection/placeholders.py), so a placeholder's character never means anything else.
FIRST_PLACEHOLDER: Final = 0xF0000
LAST_PLACEHOLDER: Final = 0x10FFFD
MAX_PLACEHOLDERS: Final = LAST_PLACEHOLDER - FIRST_PLACEHOLDER + 1
PLACEHOLDER_CHAR: Final = re.compile(f"([{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}])")
# Characters of a client that would be taken for placeholders.
_PRIVATE_RUN: Final = re.compile(f"([{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]+)")
_WORD: Final = re.compile(rf"[^\s{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]")


class PlaceholderKind(StrEnum):
    """What a placeholder is for the words around it."""

    OPEN = "open"  # begins a span of words: <b>
    CLOSE = "close"  # ends it: </b>
    ALONE = "alone"  # stands by itself: <br>, <img>
    NAME = "name"  # stands for a word or several: a placeholder, an address, a protected name, a term
    QUANTITY = "quantity"  # stands for a number with its unit
    EMOJI = "emoji"  # stands for nothing that a grammar needs: an emoji, a bullet


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Something that comes back literally: ``source`` in the text, ``target`` in its translation.

    ``partner`` is the index of what closes or opens it in the same block. ``is_text``: both are words, for the block's
    ``escape`` to write; else the document's syntax. ``inner_parts`` are the target's parts where it holds words of its
    own (an image's alternative text); their joined translations are the target then. They nest no deeper.
    """

    kind: PlaceholderKind
    source: str
    target: str
    partner: int | None = None
    is_text: bool = False
    inner_parts: tuple[Part, ...] = ()


def placeholder_char(index: int) -> str:
    """Return the character that stands for a block's placeholder of that index."""
    return chr(FIRST_PLACEHOLDER + index)


def placeholder_index(char: str) -> int | None:
    """Return the index of a character's placeholder; None for any other character."""
    code = ord(char)
    return code - FIRST_PLACEHOLDER if FIRST_PLACEHOLDER <= code <= LAST_PLACEHOLDER else None


def has_placeholders(text: str) -> bool:
    """Say whether a placeholder's character stands in the text."""
    return PLACEHOLDER_CHAR.search(text) is not None


def has_words(text: str) -> bool:
    """Say whether anything stands there but white space and placeholders' characters."""
    return _WORD.search(text) is not None


def without_placeholders(text: str) -> str:
    """Return the text with a space for each placeholder."""
    return PLACEHOLDER_CHAR.sub(" ", text)


def replace_private_chars(words: str, placeholders: list[Placeholder]) -> str:
    """Replace every run of a client's private characters by a placeholder, added to the list."""
    parts = _PRIVATE_RUN.split(words)
    for index in range(1, len(parts), 2):
        placeholders.append(Placeholder(PlaceholderKind.NAME, parts[index], parts[index], is_text=True))
        parts[index] = placeholder_char_or_empty(len(placeholders) - 1)
    return "".join(parts)


def placeholder_char_or_empty(index: int) -> str:
    """Return a placeholder's character; none beyond the last, where the block is not built."""
    return placeholder_char(index) if index < MAX_PLACEHOLDERS else ""


def unescaped(text: str) -> str:
    """Return the text as it is: its format needs no escapes."""
    return text


# Text in the document's format, and the placeholder that it is of; None for words.
WrittenRun = tuple[str, Placeholder | None]


def concatenate(runs: Sequence[WrittenRun]) -> str:
    """Join words and placeholders of a format in which neighbours do not change each other's meaning."""
    return "".join(text for text, _ in runs)


@dataclass(slots=True)
class Block:
    """Words that belong together; ``text`` is as a reader sees it, with a character for each placeholder.

    ``source`` is how it was written. ``escape`` writes translated words, never a placeholder, in the document's format;
    ``join`` puts escaped words and placeholders together.
    """

    text: str
    placeholders: tuple[Placeholder, ...]
    source: str
    escape: Callable[[str], str] = unescaped
    join: Callable[[Sequence[WrittenRun]], str] = concatenate

    def write(self, text: str) -> str:
        """Return a translation of the block, or a part of one, in the document's format.

        ``text`` holds characters of this block's placeholders and of no others; their targets replace them.
        """
        if not self.placeholders:
            return self.join([(self.escape(text), None)])
        runs: list[WrittenRun] = []
        for part in PLACEHOLDER_CHAR.split(text):
            index = placeholder_index(part) if len(part) == 1 else None
            if index is not None:
                placeholder = self.placeholders[index]
                target = self.escape(placeholder.target) if placeholder.is_text else placeholder.target
                runs.append((target, placeholder))
            elif part:
                runs.append((self.escape(part), None))
        return self.join(runs)


# A string is verbatim: it comes back as it is.
Part = str | Block


@dataclass(slots=True)
class Document:
    """The parts of a text in order; verbatim parts and the blocks' sources joined are the text itself."""

    parts: tuple[Part, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block in order; those inside a block's placeholders stand before it."""
        return _blocks(self.parts)


def _blocks(parts: tuple[Part, ...]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, Block):
            for placeholder in part.placeholders:
                blocks += _blocks(placeholder.inner_parts)
            blocks.append(part)
    return tuple(blocks)
