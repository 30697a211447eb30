"""Segment pieces: cuts a segment into pieces that are translated separately."""

from __future__ import annotations

from typing import Final

from apiserver.protection import placeholder_encoding
from apiserver.segmentation.segmenter import Segment, split_segment

# Thai: from here on, most of Unicode's scripts write words without spaces.
FIRST_WITHOUT_SPACES: Final = "\u0e00"


def cut_into_pieces(text: str, language: str, *, anywhere: bool) -> list[str]:
    """Return the parts of a segment: pieces, and the text between them.

    Joined, they are the segment. Cuts are at placeholders, else after a sentence or clause, else, if ``anywhere``,
    between words; never inside a word.
    """
    if next(placeholder_encoding.placeholders_in(text), None) is None:
        segments = split_segment(text, language)
        ends = [part.text[-1] for part in segments if isinstance(part, Segment)][:-1]
        if not anywhere and any(end.isalnum() for end in ends):
            return [text]
        parts = [part.text if isinstance(part, Segment) else part for part in segments]
        return [text] if any(map(_is_inside_word, parts, parts[1:], parts[2:])) else parts
    parts: list[str] = []
    words = ""
    for char in text:
        if next(placeholder_encoding.placeholders_in(char), None) is None:
            words += char
            continue
        parts += [*_split_outer_space(words), char]
        words = ""
    return [*parts, *_split_outer_space(words)]


def _is_inside_word(before: str, between: str, after: str) -> bool:
    if between or not before or not after:
        return False
    return all(char.isalpha() and char < FIRST_WITHOUT_SPACES for char in (before[-1], after[0]))


def _split_outer_space(words: str) -> list[str]:
    core = words.strip()
    if not core:
        return [words] if words else []
    head, tail = words[: len(words) - len(words.lstrip())], words[len(words.rstrip()) :]
    return [part for part in (head, core, tail) if part]
