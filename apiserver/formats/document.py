"""Documents: texts as verbatim parts and blocks of words."""

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
# A single line break between words; an empty line separates paragraphs.
_SOFT_BREAK: Final = re.compile(r"(?<=\S)[^\S\r\n]*+(?:\r\n?|\n)[^\S\r\n]*+(?=\S)")
# All white space between words, except a single blank, no-break or narrow no-break space.
_INNER_SPACE: Final = re.compile(r"(?<=\S)(?:\s\s++|[^\S \u00a0\u202f])(?=\S)")


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


def joined_lines(text: str) -> str:
    """Return the text with the lines of each paragraph joined by spaces."""
    return _SOFT_BREAK.sub(" ", text)


def as_one_line(text: str) -> str:
    """Return the text as one line; outer white space stays."""
    return _INNER_SPACE.sub(" ", text)
