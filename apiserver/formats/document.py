"""Document: a text as blocks of words between verbatim parts.

In a block, one private-use character replaces each placeholder, so a block is a plain string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# The private-use planes 15 and 16. A client's own such characters become placeholders, so they mean nothing else.
FIRST_PLACEHOLDER: Final = 0xF0000
LAST_PLACEHOLDER: Final = 0x10FFFD
MAX_PLACEHOLDERS: Final = LAST_PLACEHOLDER - FIRST_PLACEHOLDER + 1
PLACEHOLDER_CHAR: Final = re.compile(f"([{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}])")
_PRIVATE_RUN: Final = re.compile(f"([{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]+)")
_WORD: Final = re.compile(rf"[^\s{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]")


class PlaceholderKind(StrEnum):
    """The role of a placeholder among the words around it."""

    OPEN = "open"  # begins a span of words: <b>
    CLOSE = "close"  # ends it: </b>
    ALONE = "alone"  # has no partner: <br>, <img>
    NAME = "name"  # one or more words: {name}, an address, a protected name, a term
    QUANTITY = "quantity"  # a number with its unit
    EMOJI = "emoji"  # has no grammar: an emoji, a bullet


@dataclass(slots=True)
class Placeholder:
    """An untranslated part: ``source`` becomes ``target``.

    ``partner``: index of the placeholder that closes or opens this one.
    ``is_text``: source and target are words to escape, not syntax.
    ``inner_parts``: if set, the target is their joined translations (an image's alternative text); not nested further.
    """

    kind: PlaceholderKind
    source: str
    target: str
    partner: int | None = None
    is_text: bool = False
    inner_parts: tuple[Part, ...] = ()


def placeholder_char(index: int) -> str:
    """Return a placeholder's character."""
    return chr(FIRST_PLACEHOLDER + index)


def placeholder_index(char: str) -> int | None:
    """Return a placeholder's index; None for other characters."""
    code = ord(char)
    return code - FIRST_PLACEHOLDER if FIRST_PLACEHOLDER <= code <= LAST_PLACEHOLDER else None


def has_placeholders(text: str) -> bool:
    """Return whether the text contains a placeholder."""
    return PLACEHOLDER_CHAR.search(text) is not None


def has_words(text: str) -> bool:
    """Return whether the text has more than white space and placeholders."""
    return _WORD.search(text) is not None


def without_placeholders(text: str) -> str:
    """Return the text with a space for each placeholder."""
    return PLACEHOLDER_CHAR.sub(" ", text)


def replace_private_chars(words: str, placeholders: list[Placeholder]) -> str:
    """Replace runs of private-use characters with appended placeholders."""
    parts = _PRIVATE_RUN.split(words)
    for index in range(1, len(parts), 2):
        placeholders.append(Placeholder(PlaceholderKind.NAME, parts[index], parts[index], is_text=True))
        parts[index] = placeholder_char_or_empty(len(placeholders) - 1)
    return "".join(parts)


def placeholder_char_or_empty(index: int) -> str:
    """Return a placeholder's character; empty above the limit."""
    return placeholder_char(index) if index < MAX_PLACEHOLDERS else ""


def unescaped(text: str) -> str:
    """Return the text unchanged, for formats without escapes."""
    return text


# Text in the document's format, and its placeholder; None for words.
WrittenRun = tuple[str, Placeholder | None]


def concatenate(runs: Sequence[WrittenRun]) -> str:
    """Join runs of a format in which neighbours are independent."""
    return "".join(text for text, _ in runs)


@dataclass(slots=True)
class Block:
    """Words that belong together, as displayed, and placeholders.

    ``source`` is the original markup. ``escape`` writes words in the document's format; ``join`` joins escaped words
    and placeholders.
    """

    text: str
    placeholders: tuple[Placeholder, ...]
    source: str
    escape: Callable[[str], str] = unescaped
    join: Callable[[Sequence[WrittenRun]], str] = concatenate

    def write(self, text: str) -> str:
        """Return a (partial) translation of the block in the document's format.

        ``text`` may contain only this block's placeholders.
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


# A string is verbatim.
Part = str | Block


@dataclass(slots=True)
class Document:
    """A text's parts; verbatim parts and block sources equal it."""

    parts: tuple[Part, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks in order; a block's inner ones precede it."""
        return _blocks(self.parts)


def _blocks(parts: tuple[Part, ...]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, Block):
            for placeholder in part.placeholders:
                blocks += _blocks(placeholder.inner_parts)
            blocks.append(part)
    return tuple(blocks)
