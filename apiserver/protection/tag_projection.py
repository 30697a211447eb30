"""Projection: where an inline tag belongs in a translation that was made without it. Pure.

For models that copy no tags. ``This is <b>very important</b>.`` is translated without its tags, and so is the stretch
inside them. Where the stretch's translation stands in the whole's, the tags go around it; a stretch alone often comes
back as a sentence ("Das ist sehr wichtig."), so else they go around words of it that stand together in the whole, about
as many as the stretch has and about where it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apiserver.formats.document import Placeholder, PlaceholderKind, placeholder_char
from apiserver.protection.placeholder_encoding import WORD_KINDS, is_well_nested, placeholders_in

# Each stretch is an engine request of its own; beyond a few, translating the pieces costs no more.
MAX_TAGGED_SPANS: Final = 4
# A stretch alone comes back as a sentence: with a full stop that it lacks inside another.
_ENDS: Final = " .!?。！？…,;:"
# How far from its place in the source, as a share of the sentence, a stretch may be found: word order differs, but in
# a sentence's other half it is another word.
MAX_COST: Final = 0.3
# What each word more or less than the stretch has counts against a place, in the same share.
_SIZE_COST: Final = 0.1
# Shorter words (is, the, and) stand everywhere: a place needs one that says something.
LONG_WORD: Final = 4
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TaggedSpan:
    """What a pair of tags holds: their characters, the words between them, and the place of their middle (0..1)."""

    opening: str
    closing: str
    text: str
    position: float = 0.5


@dataclass(frozen=True, slots=True)
class UntaggedText:
    """A segment without its tags, and the stretches that had them, outermost first."""

    text: str
    spans: tuple[TaggedSpan, ...]


def remove_tags(text: str, marks: Sequence[Placeholder]) -> UntaggedText | None:
    """Take the tags out; None where there is a mark that is neither a word nor one of a pair, or there are too many."""
    present = {index for _, index in placeholders_in(text)}
    tags: set[str] = set()
    openings: list[tuple[str, str]] = []
    for char, index in placeholders_in(text):
        mark = marks[index]
        if mark.kind in WORD_KINDS:
            continue
        if mark.partner is None or mark.partner not in present:
            return None
        tags.add(char)
        if mark.kind is PlaceholderKind.OPEN:
            openings.append((char, placeholder_char(mark.partner)))
    if not openings or len(openings) > MAX_TAGGED_SPANS or not is_well_nested(text, marks):
        return None

    def plain(part: str) -> str:
        return " ".join("".join(char for char in part if char not in tags).split(" "))

    stretches: list[TaggedSpan] = []
    for opening, closing in openings:
        start, end = text.index(opening), text.index(closing)
        stretches.append(TaggedSpan(opening, closing, plain(text[start:end]).strip(), (start + end) / 2 / len(text)))
    return UntaggedText(plain(text), tuple(stretches)) if all(stretch.text for stretch in stretches) else None


def project_tags(whole: str, found: Sequence[tuple[TaggedSpan, str]]) -> str | None:
    """Put each stretch's tags around its translation in the whole; None where it can not be told where."""
    spans: list[tuple[int, int, TaggedSpan]] = []
    for stretch, translation in found:
        size = len(_WORD.findall(stretch.text))
        hits = [
            (
                _SIZE_COST * max(0, abs(words - size) - slack) + abs((start + end) / 2 / len(whole) - stretch.position),
                start,
                end,
            )
            for start, end, words, slack in (
                *_exact(whole, translation),
                *_exact(whole, stretch.text),  # a name
                *_alike(whole, translation, size),
            )
        ]
        cost, start, end = min(hits, default=(1.0, 0, 0))
        if cost > MAX_COST:
            return None
        spans.append((start, end, stretch))
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


def _exact(whole: str, translation: str) -> list[tuple[int, int, int, int]]:
    """Return where the translation itself stands, whatever its case; with its words, one of which more or less is free."""
    wanted = translation.strip(_ENDS)
    if not wanted:
        return []
    before = r"(?<!\w)" if wanted[0].isascii() and wanted[0].isalnum() else ""
    after = r"(?!\w)" if wanted[-1].isascii() and wanted[-1].isalnum() else ""
    hits = re.finditer(f"{before}{re.escape(wanted)}{after}", whole, re.IGNORECASE)
    return [(*hit.span(), len(_WORD.findall(wanted)), 1) for hit in hits]


def _alike(whole: str, translation: str, size: int) -> list[tuple[int, int, int, int]]:
    """Return where words of the translation stand together, ``size`` of them or one more or less."""
    known = {word.casefold() for word in _WORD.findall(translation)}
    words = [(match.span(), match.group().casefold() in known) for match in _WORD.finditer(whole)]
    hits: list[tuple[int, int, int, int]] = []
    for count in {max(1, size - 1), size, size + 1}:
        for first in range(len(words) - count + 1):
            window = words[first : first + count]
            if all(is_known for _, is_known in window) and any(end - start >= LONG_WORD for (start, end), _ in window):
                hits.append((window[0][0][0], window[-1][0][1], count, 0))
    return hits
