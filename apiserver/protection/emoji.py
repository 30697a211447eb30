"""Floating: emoji and other signs that no grammar needs: taken out before a model sees them, put back about there. Pure.

A model that was trained on sentences reads an emoji as noise and answers with more of it; one that knows it may drop it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apiserver.formats.document import Placeholder, PlaceholderKind
from apiserver.protection.placeholder_encoding import placeholders_in

# Where words without spaces between them leave room.
_CLAUSE_ENDS: Final = "、，。！？；："


@dataclass(frozen=True, slots=True)
class EmojiPosition:
    """One sign's mark: its character, its place (0..1) among the words, and whether it stands close to the word before."""

    char: str
    position: float
    is_attached: bool


def remove_emoji(text: str, marks: Sequence[Placeholder]) -> tuple[str, tuple[EmojiPosition, ...]]:
    """Return the words without their floating marks, and the marks in order."""
    floating = {char for char, index in placeholders_in(text) if marks[index].kind is PlaceholderKind.EMOJI}
    if not floating:
        return text, ()
    floats: list[EmojiPosition] = []
    words: list[str] = []
    for position, char in enumerate(text):
        if char in floating:
            floats.append(
                EmojiPosition(char, position / len(text), is_attached=position > 0 and not text[position - 1].isspace())
            )
        elif not char.isspace() or (words and not words[-1].isspace()):  # a sign between two spaces leaves one
            words.append(char)
    return "".join(words).strip(), tuple(floats)


def restore_emoji(words: str, floats: Sequence[EmojiPosition]) -> str:
    """Return the words with every mark behind the word or clause that ends nearest to where it was, in their order."""
    ends = [index for index in range(1, len(words)) if words[index].isspace() or words[index - 1] in _CLAUSE_ENDS]
    ends.append(len(words))
    parts: list[str] = []
    done = first = 0
    for each in floats:
        wanted = each.position * len(words)
        # The ends are in order, so the nearest is one of the two around the place; none before the last one's.
        after = min(bisect_left(ends, wanted, first), len(ends) - 1)
        first = after - 1 if after > first and wanted - ends[after - 1] <= ends[after] - wanted else after
        parts += [words[done : ends[first]], each.char if each.is_attached else f" {each.char}"]
        done = ends[first]
    return "".join([*parts, words[done:]])
