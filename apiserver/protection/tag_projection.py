"""Tag projection: puts inline tags into a translation made without them.

For models that copy no tags. The tags go around the span's own translation in the segment's, else around adjacent words
of it: about as many as in the source, at about the same position (docs/decisions/0011-translation-core.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from apiserver.formats.document import Placeholder, PlaceholderKind, placeholder_char
from apiserver.protection.placeholder_encoding import WORD_KINDS, is_well_nested, placeholders_in

# Each span is an engine request; beyond four, pieces cost no more.
MAX_TAGGED_SPANS: Final = 4
# A span translated alone may get a full stop.
_ENDS: Final = " .!?。！？…,;:"
# The most distance between a match and the span's position in the source, as a share of the sentence.
MAX_COST: Final = 0.3
# The cost of each word more or less than the span has, in the same unit.
_SIZE_COST: Final = 0.1
# A match needs a word of this length, because shorter ones are everywhere.
LONG_WORD: Final = 4
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TaggedSpan:
    """A pair of tags, the words between them, and their middle (0..1)."""

    opening: str
    closing: str
    text: str
    position: float = 0.5


@dataclass(frozen=True, slots=True)
class UntaggedText:
    """A segment without tags; tagged spans are outermost first."""

    text: str
    spans: tuple[TaggedSpan, ...]


class _Match(NamedTuple):
    """A possible place; a difference of ``free_words`` costs nothing."""

    start: int
    end: int
    words: int
    free_words: int


def remove_tags(text: str, placeholders: Sequence[Placeholder]) -> UntaggedText | None:
    """Return the segment without its tags.

    None if it has no tag, more than MAX_TAGGED_SPANS, one without partner, an empty pair, or overlapping pairs.
    """
    present = {index for _, index in placeholders_in(text)}
    tags: set[str] = set()
    openings: list[tuple[str, str]] = []
    for char, index in placeholders_in(text):
        placeholder = placeholders[index]
        if placeholder.kind in WORD_KINDS:
            continue
        if placeholder.partner is None or placeholder.partner not in present:
            return None
        tags.add(char)
        if placeholder.kind is PlaceholderKind.OPEN:
            openings.append((char, placeholder_char(placeholder.partner)))
    if not openings or len(openings) > MAX_TAGGED_SPANS or not is_well_nested(text, placeholders):
        return None

    def plain(part: str) -> str:
        return " ".join("".join(char for char in part if char not in tags).split(" "))

    spans: list[TaggedSpan] = []
    for opening, closing in openings:
        start, end = text.index(opening), text.index(closing)
        spans.append(TaggedSpan(opening, closing, plain(text[start:end]).strip(), (start + end) / 2 / len(text)))
    return UntaggedText(plain(text), tuple(spans)) if all(span.text for span in spans) else None


def project_tags(whole: str, translations: Sequence[tuple[TaggedSpan, str]]) -> str | None:
    """Put the tags into the whole; None if a place is unclear."""
    places: list[tuple[int, int, TaggedSpan]] = []
    for span, translation in translations:
        cost, start, end = _best_match(whole, span, translation)
        if cost > MAX_COST:
            return None
        places.append((start, end, span))
    for index, (start, end, _) in enumerate(places):
        if any(_crosses((start, end), (other_start, other_end)) for other_start, other_end, _ in places[index + 1 :]):
            return None
    # At one place, an inner opening goes behind an outer one, an inner closing before it.
    inserts: list[tuple[int, int, int, str]] = []
    for rank, (start, end, span) in enumerate(places):
        inserts.append((start, 1, rank, span.opening))
        inserts.append((end, 0, -rank, span.closing))
    parts: list[str] = []
    last = 0
    for offset, _, _, char in sorted(inserts):
        parts += [whole[last:offset], char]
        last = offset
    return "".join([*parts, whole[last:]])


def _best_match(whole: str, span: TaggedSpan, translation: str) -> tuple[float, int, int]:
    size = len(_WORD.findall(span.text))
    matches = (
        *_exact_matches(whole, translation),
        *_exact_matches(whole, span.text),  # a name
        *_similar_matches(whole, translation, size),
    )
    return min(((_cost(whole, span, match, size), match.start, match.end) for match in matches), default=(1.0, 0, 0))


def _cost(whole: str, span: TaggedSpan, match: _Match, size: int) -> float:
    distance = abs((match.start + match.end) / 2 / len(whole) - span.position)
    return _SIZE_COST * max(0, abs(match.words - size) - match.free_words) + distance


def _crosses(first: tuple[int, int], second: tuple[int, int]) -> bool:
    is_nested = first[0] <= second[0] and second[1] <= first[1]
    return not is_nested and not (first[1] <= second[0] or second[1] <= first[0])


def _exact_matches(whole: str, translation: str) -> list[_Match]:
    core = translation.strip(_ENDS)
    if not core:
        return []
    before = r"(?<!\w)" if core[0].isascii() and core[0].isalnum() else ""
    after = r"(?!\w)" if core[-1].isascii() and core[-1].isalnum() else ""
    words = len(_WORD.findall(core))
    matches = re.finditer(f"{before}{re.escape(core)}{after}", whole, re.IGNORECASE)
    return [_Match(match.start(), match.end(), words, 1) for match in matches]


def _similar_matches(whole: str, translation: str, size: int) -> list[_Match]:
    """Find ``size`` (± 1) adjacent words of the translation."""
    known = {word.casefold() for word in _WORD.findall(translation)}
    words = [(match.span(), match.group().casefold() in known) for match in _WORD.finditer(whole)]
    matches: list[_Match] = []
    for count in {max(1, size - 1), size, size + 1}:
        for first in range(len(words) - count + 1):
            window = words[first : first + count]
            if all(is_known for _, is_known in window) and any(end - start >= LONG_WORD for (start, end), _ in window):
                matches.append(_Match(window[0][0][0], window[-1][0][1], count, 0))
    return matches
