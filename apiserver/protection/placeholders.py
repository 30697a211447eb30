"""Placeholders: replaces the parts of a block that must survive translation.

Literals of one kind joined by a space or sign become one placeholder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self

from apiserver.formats.document import (
    MAX_PLACEHOLDERS,
    Block,
    Placeholder,
    PlaceholderKind,
    placeholder_char,
    placeholder_index,
)
from apiserver.protection.glossary import GlossaryMatcher
from apiserver.protection.number_conventions import convert_amount
from shared.languages import LanguagePair
from shared.literals import Literal, LiteralKind, literals_in

# Not arrows and mathematical signs, which have a meaning.
_PICTURE: Final = "\u231a-\u23ff\u2600-\u27bf\u2b50-\u2b55\U0001f000-\U0001faff"
# Controls (except white space), soft hyphens, zero-width and direction marks; not the joiners of letters.
_UNSEEN: Final = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
)
_SIGNS: Final = re.compile(f"[{_PICTURE}][{_PICTURE}\ufe0e\ufe0f\u200d\u20e3]*|[{_UNSEEN}]+")
# Only at a line's start.
_BULLET: Final = "•‣⁃◦▪▫●○■□→⇒»·–*-"
_BULLETS: Final = re.compile(f"(?<![^\n\r])[ \t]*([{_BULLET}])(?= )")
_PRIVATE: Final = re.compile("[\U000f0000-\U0010fffd]")
# One search for all of them, because most texts have none.
_SIGN: Final = re.compile(f"[{_PICTURE}{_UNSEEN}\U000f0000-\U0010fffd{_BULLET}]")
# Between two literals that become one placeholder: no words, no end of a sentence, no hard white space.
_JOINING: Final = re.compile(r"[ \u00a0\u202f/:_·|+=~@#&*×–-]?")


@dataclass(frozen=True, slots=True)
class Protection:
    """A request's names and terms; ``terms`` maps source to target."""

    terms: Mapping[str, str]
    glossary: GlossaryMatcher | None

    @classmethod
    def of(cls, do_not_translate: Sequence[str], terms: Mapping[str, str]) -> Self:
        """Return the protection."""
        return cls(terms, GlossaryMatcher.of(do_not_translate, terms) if do_not_translate or terms else None)


class _Span(NamedTuple):
    """A part to protect; only terms have a target."""

    start: int
    end: int
    kind: PlaceholderKind
    target: str | None = None


def protect(block: Block, protection: Protection, pair: LanguagePair) -> Block:
    """Replace a block's protected parts by placeholders.

    Existing placeholders keep their index. Parts beyond MAX_PLACEHOLDERS stay words. Quantities get the target's notation.
    """
    candidates = list(_candidates(block, protection))
    if not candidates:
        return block
    free = MAX_PLACEHOLDERS - len(block.placeholders)
    spans = list(_merge_neighbours(block.text, _without_overlaps(candidates)))[:free]
    text, placeholders, copied = list[str](), list(block.placeholders), 0
    for span in spans:
        source = block.text[span.start : span.end]
        text += [block.text[copied : span.start], placeholder_char(len(placeholders))]
        placeholders.append(Placeholder(span.kind, source, _target(block.text, span, pair), is_text=True))
        copied = span.end
    text.append(block.text[copied:])
    return replace(block, text="".join(text), placeholders=tuple(placeholders))


def count_literals(text: str, pair: LanguagePair) -> Counter[str]:
    """Count literals as the translation must have them, exactly as often."""
    return Counter(_target(text, _span_of(literal), pair) for literal in literals_in(text))


def has_invented_placeholder(source: str, output: str) -> bool:
    """Return whether the output has more of a placeholder, tag or entity."""
    codes = _codes(output)
    return bool(codes) and bool(codes - _codes(source))


def _codes(text: str) -> Counter[str]:
    return Counter(text[start:end] for start, end, kind in literals_in(text) if kind is LiteralKind.CODE)


def _span_of(literal: Literal) -> _Span:
    is_quantity = literal.kind is LiteralKind.QUANTITY
    return _Span(literal.start, literal.end, PlaceholderKind.QUANTITY if is_quantity else PlaceholderKind.NAME)


def _target(text: str, span: _Span, pair: LanguagePair) -> str:
    if span.target is not None:
        return span.target
    if span.kind is PlaceholderKind.QUANTITY:
        return convert_amount(text, span.start, span.end, pair)
    return text[span.start : span.end]


def _candidates(block: Block, protection: Protection) -> Iterator[_Span]:
    text = block.text
    yield from map(_span_of, literals_in(text))
    if protection.glossary is not None:
        for entry in protection.glossary.find(text):
            yield _Span(entry.start, entry.end, PlaceholderKind.NAME, entry.target)
    if not _SIGN.search(text):
        return
    for sign in _SIGNS.finditer(text):
        yield _Span(sign.start(), sign.end(), PlaceholderKind.EMOJI)
    for bullet in _BULLETS.finditer(text):
        yield _Span(bullet.start(1), bullet.end(1), PlaceholderKind.EMOJI)
    for match in _PRIVATE.finditer(text):
        if (placeholder_index(match.group()) or 0) >= len(block.placeholders):
            yield _Span(match.start(), match.end(), PlaceholderKind.NAME)


def _without_overlaps(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Merge verbatim spans; terms give way, except to spans inside them."""
    last: _Span | None = None
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.target is not None)):
        if last is None or span.start >= last.end:
            if last is not None:
                yield last
            last = span
        elif last.target is None and span.target is None:
            last = _Span(last.start, max(span.end, last.end), PlaceholderKind.NAME)
        elif last.target is not None and span.end > last.end:
            last = span
    if last is not None:
        yield last


def _merge_neighbours(text: str, spans: Iterator[_Span]) -> Iterator[_Span]:
    last: _Span | None = None
    for span in spans:
        if last is not None and _can_merge(text, last, span):
            last = _Span(last.start, span.end, last.kind)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _can_merge(text: str, first: _Span, second: _Span) -> bool:
    if first.kind is not second.kind or first.target is not None or second.target is not None:
        return False
    return second.start - first.end <= 1 and _JOINING.fullmatch(text, first.end, second.start) is not None
