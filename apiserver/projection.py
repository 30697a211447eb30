"""Projection: where an inline tag belongs in a translation that was made without it. Pure.

For models that copy no tags. ``This is <b>very important</b>.`` is translated without its tags, and so is the stretch
inside them; where the stretch's translation stands exactly once in the whole's, the tags go around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiserver.document import MarkKind, mark_char
from apiserver.rendering import WORD_KINDS, in_order, marks_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiserver.document import Mark

# Each stretch is an engine request of its own; beyond a few, translating the pieces costs no more.
MAX_STRETCHES: Final = 4
# A stretch alone comes back as a sentence: with a capital and a full stop that it lacks inside another.
_ENDS: Final = " .!?。！？…,;:"


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a pair of tags holds: their two characters, and the words between them without any tag."""

    opening: str
    closing: str
    words: str


@dataclass(frozen=True, slots=True)
class Untagged:
    """A segment without its tags, and the stretches that had them, outermost first."""

    words: str
    stretches: tuple[Stretch, ...]


def untagged(text: str, marks: Sequence[Mark]) -> Untagged | None:
    """Take the tags out; None where there is a mark that is neither a word nor one of a pair, or there are too many."""
    present = {index for _, index in marks_in(text)}
    tags: set[str] = set()
    openings: list[tuple[str, str]] = []
    for char, index in marks_in(text):
        mark = marks[index]
        if mark.kind in WORD_KINDS:
            continue
        if mark.partner is None or mark.partner not in present:
            return None
        tags.add(char)
        if mark.kind is MarkKind.OPEN:
            openings.append((char, mark_char(mark.partner)))
    if not openings or len(openings) > MAX_STRETCHES or not in_order(text, marks):
        return None

    def plain(part: str) -> str:
        return " ".join("".join(char for char in part if char not in tags).split(" "))

    stretches = tuple(
        Stretch(opening, closing, plain(text[text.index(opening) + 1 : text.index(closing)]).strip())
        for opening, closing in openings
    )
    return Untagged(plain(text), stretches) if all(stretch.words for stretch in stretches) else None


def place(whole: str, found: Sequence[tuple[Stretch, str]]) -> str | None:
    """Put each stretch's tags around its translation in the whole; None where one is not there exactly once."""
    spans: list[tuple[int, int, Stretch]] = []
    for stretch, translation in found:
        wanted = translation.strip(_ENDS)
        if not wanted:
            return None
        edge_before = r"(?<!\w)" if wanted[0].isalnum() and wanted[0].isascii() else ""
        edge_after = r"(?!\w)" if wanted[-1].isalnum() and wanted[-1].isascii() else ""
        hits = list(re.finditer(f"{edge_before}{re.escape(wanted)}{edge_after}", whole, re.IGNORECASE))
        if len(hits) != 1:
            return None
        spans.append((*hits[0].span(), stretch))
    for index, (start, end, _) in enumerate(spans):
        for other_start, other_end, _ in spans[index + 1 :]:
            nested = start <= other_start and other_end <= end
            if not nested and not (end <= other_start or other_end <= start):
                return None
    # Outermost first, so an opening goes behind those already put at its place, and a closing before them.
    inserts: list[tuple[int, int, int, str]] = []
    for rank, (start, end, stretch) in enumerate(spans):
        inserts.append((start, 1, rank, stretch.opening))
        inserts.append((end, 0, -rank, stretch.closing))
    pieces: list[str] = []
    last = 0
    for position, _, _, char in sorted(inserts):
        pieces += [whole[last:position], char]
        last = position
    return "".join([*pieces, whole[last:]])
