"""Placeholders: replaces what must survive in a block before anything is translated.

Replaced are literals (shared/literals.py), the client's names and terms (glossary.py), pictures, bullets, what is not
seen, and private characters. Literals of one kind joined by a space or sign are one placeholder.
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
from shared.literals import LiteralKind, literals_in

# Emoji, dingbats and other pictures, with what joins and colours them; arrows and mathematics say something.
_PICTURE: Final = "\u231a-\u23ff\u2600-\u27bf\u2b50-\u2b55\U0001f000-\U0001faff"
# What is not seen: controls (but white space), soft hyphens, zero-width and direction marks; not the joiners of letters.
_UNSEEN: Final = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
)
_SIGNS: Final = re.compile(f"[{_PICTURE}][{_PICTURE}\ufe0e\ufe0f\u200d\u20e3]*|[{_UNSEEN}]+")
# Bullets and arrows, only where a line begins with them.
_BULLET: Final = "•‣⁃◦▪▫●○■□→⇒»·–*-"
_BULLETS: Final = re.compile(f"(?<![^\n\r])[ \t]*([{_BULLET}])(?= )")
_PRIVATE: Final = re.compile("[\U000f0000-\U0010fffd]")
# What each of these has one of: most texts have none, and need not be searched for all three.
_SIGN: Final = re.compile(f"[{_PICTURE}{_UNSEEN}\U000f0000-\U0010fffd{_BULLET}]")
# Between two literals that travel better as one: no words, no end of a sentence, no hard white space.
_JOINING: Final = re.compile(r"[ \u00a0\u202f/:_·|+=~@#&*×–-]?")


@dataclass(frozen=True, slots=True)
class Protection:
    """What a request protects in all of its texts; ``terms`` is source to target, as given, ``glossary`` finds them."""

    terms: Mapping[str, str]
    glossary: GlossaryMatcher | None

    @classmethod
    def of(cls, do_not_translate: Sequence[str], terms: Mapping[str, str]) -> Self:
        """Return the protection of names and terms, which shared/protocol/messages.py has bounded."""
        return cls(terms, GlossaryMatcher.of(do_not_translate, terms) if do_not_translate or terms else None)


class _Span(NamedTuple):
    """A part of a block's text that becomes a placeholder; ``target`` is a term's, else None."""

    start: int
    end: int
    kind: PlaceholderKind
    target: str | None = None


def protect(block: Block, protection: Protection) -> Block:
    """Return the block with placeholders for what must survive; those it has keep their index.

    Beyond MAX_PLACEHOLDERS the rest stays words.
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
        placeholders.append(
            Placeholder(span.kind, source, source if span.target is None else span.target, is_text=True)
        )
        copied = span.end
    text.append(block.text[copied:])
    return replace(block, text="".join(text), placeholders=tuple(placeholders))


def count_literals(text: str) -> Counter[str]:
    """Count the literals of a text: what must be in its translation exactly as often."""
    return Counter(text[literal.start : literal.end] for literal in literals_in(text))


def has_invented_placeholder(source: str, output: str) -> bool:
    """Say whether the output has a placeholder or a tag (other than those of HTML entities) that the source lacks."""
    codes = _codes(output)
    return bool(codes) and bool(codes - _codes(source))


def _codes(text: str) -> Counter[str]:
    return Counter(text[start:end] for start, end, kind in literals_in(text) if kind is LiteralKind.CODE)


def _candidates(block: Block, protection: Protection) -> Iterator[_Span]:
    """Yield what must survive, in no order; spans may overlap."""
    text = block.text
    for literal in literals_in(text):
        kind = PlaceholderKind.QUANTITY if literal.kind is LiteralKind.QUANTITY else PlaceholderKind.NAME
        yield _Span(literal.start, literal.end, kind)
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
    """Yield spans without overlaps: what stays as it is merges, a term yields unless it holds the other."""
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
    """Yield the spans; neighbours of one kind without words between them become one."""
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
