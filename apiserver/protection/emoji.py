"""Emoji: removed, because models answer them with noise, and restored."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apiserver.formats.document import Placeholder, PlaceholderKind
from apiserver.protection.placeholder_encoding import placeholders_in

# An emoji may go behind these in scripts without spaces.
_CLAUSE_ENDS: Final = "、，。！？；："


@dataclass(frozen=True, slots=True)
class EmojiPosition:
    """A removed emoji; ``position`` is 0..1, ``is_attached`` means no space before."""

    char: str
    position: float
    is_attached: bool


def remove_emoji(text: str, placeholders: Sequence[Placeholder]) -> tuple[str, tuple[EmojiPosition, ...]]:
    """Return the text without emoji, and the emoji in order."""
    chars = {char for char, index in placeholders_in(text) if placeholders[index].kind is PlaceholderKind.EMOJI}
    if not chars:
        return text, ()
    emojis: list[EmojiPosition] = []
    kept: list[str] = []
    for offset, char in enumerate(text):
        if char in chars:
            is_attached = offset > 0 and not text[offset - 1].isspace()
            emojis.append(EmojiPosition(char, offset / len(text), is_attached))
        elif not char.isspace() or (kept and not kept[-1].isspace()):  # a sign between two spaces leaves one
            kept.append(char)
    return "".join(kept).strip(), tuple(emojis)


def restore_emoji(text: str, emojis: Sequence[EmojiPosition]) -> str:
    """Put each emoji behind the nearest word or clause, in order."""
    ends = [index for index in range(1, len(text)) if text[index].isspace() or text[index - 1] in _CLAUSE_ENDS]
    ends.append(len(text))
    parts: list[str] = []
    copied = first = 0
    for emoji in emojis:
        offset = emoji.position * len(text)
        # The nearest end, but not before the previous emoji's.
        after = min(bisect_left(ends, offset, first), len(ends) - 1)
        first = after - 1 if after > first and offset - ends[after - 1] <= ends[after] - offset else after
        parts += [text[copied : ends[first]], emoji.char if emoji.is_attached else f" {emoji.char}"]
        copied = ends[first]
    return "".join([*parts, text[copied:]])
