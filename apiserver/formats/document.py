"""Document: a text as blocks of words between verbatim parts.

In a block, one private-use character replaces each :class:`Placeholder` (a tag, a name). So a block is a plain string
for all code between the parser and the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# The private-use planes 15 and 16. Such characters in a client's text become placeholders themselves
# (:func:`replace_private_chars`), so they mean nothing else.
FIRST_PLACEHOLDER: Final = 0xF0000
LAST_PLACEHOLDER: Final = 0x10FFFD
MAX_PLACEHOLDERS: Final = LAST_PLACEHOLDER - FIRST_PLACEHOLDER + 1
PLACEHOLDER_CHAR: Final = re.compile(f"([{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}])")
# A client's own private-use characters.
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


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A part that is not translated: ``source`` becomes ``target``.

    ``partner``: index of the placeholder that closes or opens this one, in the same block.
    ``is_text``: source and target are words, which the block's ``escape`` writes; otherwise they are syntax.
    ``inner_parts``: set if the target contains words to translate (an image's alternative text); the target is then
    their joined translations. They are not nested further.
    """

    kind: PlaceholderKind
    source: str
    target: str
    partner: int | None = None
    is_text: bool = False
    inner_parts: tuple[Part, ...] = ()


def placeholder_char(index: int) -> str:
    """Return the character of a block's placeholder."""
    return chr(FIRST_PLACEHOLDER + index)


def placeholder_index(char: str) -> int | None:
    """Return a placeholder's index; None for other characters."""
    code = ord(char)
    return code - FIRST_PLACEHOLDER if FIRST_PLACEHOLDER <= code <= LAST_PLACEHOLDER else None


def has_placeholders(text: str) -> bool:
    """Return whether the text contains a placeholder's character."""
    return PLACEHOLDER_CHAR.search(text) is not None


def has_words(text: str) -> bool:
    """Return whether the text contains more than white space and placeholders."""
    return _WORD.search(text) is not None


def without_placeholders(text: str) -> str:
    """Return the text with a space for each placeholder."""
    return PLACEHOLDER_CHAR.sub(" ", text)


def replace_private_chars(words: str, placeholders: list[Placeholder]) -> str:
    """Replace each run of private-use characters with a placeholder; append it."""
    parts = _PRIVATE_RUN.split(words)
    for index in range(1, len(parts), 2):
        placeholders.append(Placeholder(PlaceholderKind.NAME, parts[index], parts[index], is_text=True))
        parts[index] = placeholder_char_or_empty(len(placeholders) - 1)
    return "".join(parts)


def placeholder_char_or_empty(index: int) -> str:
    """Return a placeholder's character; empty above the limit: such blocks are discarded."""
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
    """Words that belong together, as displayed, with a character for each placeholder.

    ``source`` is the original markup. ``escape`` writes translated words (never a placeholder) in the document's
    format; ``join`` joins escaped words and placeholders.
    """

    text: str
    placeholders: tuple[Placeholder, ...]
    source: str
    escape: Callable[[str], str] = unescaped
    join: Callable[[Sequence[WrittenRun]], str] = concatenate

    def write(self, text: str) -> str:
        """Return a (partial) translation of the block in the document's format.

        ``text`` may contain only this block's placeholders; their targets replace them.
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
    """The parts of a text; verbatim parts and block sources equal it."""

    parts: tuple[Part, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks in order; blocks inside a block's placeholders precede it."""
        return _blocks(self.parts)


def _blocks(parts: tuple[Part, ...]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, Block):
            for placeholder in part.placeholders:
                blocks += _blocks(placeholder.inner_parts)
            blocks.append(part)
    return tuple(blocks)
