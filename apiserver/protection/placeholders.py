"""Placeholders: what must survive in a block becomes marks before anything is translated. Pure.

Marked are literals (shared/literals.py), the client's names and terms (phrases.py), pictures like emoji, bullets, what is not
seen, and characters of the private planes that came through a parser. Literals of one kind that nothing but a space or a joining sign parts are one mark.
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

_PRIVATE: Final = re.compile("[\U000f0000-\U0010fffd]")
# Emoji, dingbats and other pictures, with what joins and colours them; arrows and mathematics say something.
_PICTURE: Final = "\u231a-\u23ff\u2600-\u27bf\u2b50-\u2b55\U0001f000-\U0001faff"
# What is not seen: controls (but white space), soft hyphens, zero-width and direction marks; not the joiners of letters.
_UNSEEN: Final = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
)
_SIGNS: Final = re.compile(f"[{_PICTURE}][{_PICTURE}\ufe0e\ufe0f\u200d\u20e3]*|[{_UNSEEN}]+")
# Bullets and arrows, only where a line begins with them.
_BULLETS: Final = re.compile("(?<![^\n\r])[ \t]*([•‣⁃◦▪▫●○■□→⇒»·–*-])(?= )")
# Between two literals that travel better as one: no words, no end of a sentence, no hard white space.
_JOINING: Final = re.compile(r"[ \u00a0\u202f/:_·|+=~@#&*×–-]?")


# What most requests want, made once.
_NO_PHRASES: Final = GlossaryMatcher.of((), {})


@dataclass(frozen=True, slots=True)
class Protection:
    """What a request wants protected in all of its texts; ``terms`` is source to target, as given."""

    terms: Mapping[str, str]
    glossary: GlossaryMatcher

    @classmethod
    def of(cls, do_not_translate: Sequence[str], terms: Mapping[str, str]) -> Self:
        """Take the request's names and terms, which shared/protocol/messages.py has bounded."""
        return (
            cls(terms, GlossaryMatcher.of(do_not_translate, terms))
            if do_not_translate or terms
            else cls({}, _NO_PHRASES)
        )


class _Span(NamedTuple):
    """A part of a block's text that becomes a mark; ``target`` is a term's, None for what stays as it is."""

    start: int
    end: int
    kind: PlaceholderKind
    target: str | None = None


def protect(block: Block, protection: Protection) -> Block:
    """Return the block with marks for what must survive; the marks it has keep their index.

    A block that would have more than MAX_MARKS keeps the rest as words.
    """
    room = MAX_PLACEHOLDERS - len(block.placeholders)
    spans = list(_merged(block.text, _united(_found(block, protection))))[:room]
    if not spans:
        return block
    text, marks, done = list[str](), list(block.placeholders), 0
    for span in spans:
        source = block.text[span.start : span.end]
        text += [block.text[done : span.start], placeholder_char(len(marks))]
        marks.append(Placeholder(span.kind, source, source if span.target is None else span.target, is_text=True))
        done = span.end
    text.append(block.text[done:])
    return replace(block, text="".join(text), placeholders=tuple(marks))


def count_literals(text: str) -> Counter[str]:
    """Count the literals of a text: what must be in its translation exactly as often."""
    return Counter(text[literal.start : literal.end] for literal in literals_in(text))


def has_invented_placeholder(source: str, output: str) -> bool:
    """Say whether the output has a placeholder or a tag (other than those of HTML entities) that the source lacks."""
    codes = _codes(output)
    return bool(codes) and bool(codes - _codes(source))


def _codes(text: str) -> Counter[str]:
    return Counter(text[start:end] for start, end, kind in literals_in(text) if kind is LiteralKind.CODE)


def _found(block: Block, protection: Protection) -> Iterator[_Span]:
    """Yield what is to be marked, in no order; parts may overlap."""
    for literal in literals_in(block.text):
        kind = PlaceholderKind.QUANTITY if literal.kind is LiteralKind.QUANTITY else PlaceholderKind.NAME
        yield _Span(literal.start, literal.end, kind)
    for sign in _SIGNS.finditer(block.text):
        yield _Span(sign.start(), sign.end(), PlaceholderKind.EMOJI)
    for bullet in _BULLETS.finditer(block.text):
        yield _Span(bullet.start(1), bullet.end(1), PlaceholderKind.EMOJI)
    for found in protection.glossary.find(block.text):
        yield _Span(found.start, found.end, PlaceholderKind.NAME, found.target)
    for match in _PRIVATE.finditer(block.text):
        if (placeholder_index(match.group()) or 0) >= len(block.placeholders):
            yield _Span(match.start(), match.end(), PlaceholderKind.NAME)


def _united(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Yield parts that do not overlap: what stays as it is grows together, a term gives way unless it holds the other."""
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


def _merged(text: str, spans: Iterator[_Span]) -> Iterator[_Span]:
    """Yield the parts, neighbours of one kind that no words part as one."""
    last: _Span | None = None
    for span in spans:
        if last is not None and _joins(text, last, span):
            last = _Span(last.start, span.end, last.kind)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _joins(text: str, one: _Span, two: _Span) -> bool:
    if one.kind is not two.kind or one.target is not None or two.target is not None:
        return False
    return two.start - one.end <= 1 and _JOINING.fullmatch(text, one.end, two.start) is not None
