"""HTML tokens that cover a text without gaps.

The only file that imports turbohtml, whose tokenizer follows the standard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from typing import Final

from turbohtml import Token, TokenType, tokenize

# Line ends and NULs are replaced as in the standard. Each stays one character, so offsets stay valid.
_NORMALIZED: Final = str.maketrans({"\r": "\n", "\0": "\ufffd"})
# The only markup that the tokenizer skips in the middle of words.
_EMPTY_END_TAG: Final = "</>"


class TokenKind(Enum):
    """The kind of a token."""

    WORDS = auto()  # literal characters
    REFERENCE = auto()  # a character reference: &amp;
    START = auto()
    END = auto()
    OTHER = auto()  # a comment, a doctype, anything else that a browser ignores


@dataclass(slots=True)
class HtmlToken:
    """A part of the text.

    ``words``: the characters of a reference. ``tag``: the name in lower case.
    """

    kind: TokenKind
    start: int
    end: int
    words: str = ""
    tag: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


_MARKUP: Final = {
    TokenType.CHARACTER_REFERENCE: TokenKind.REFERENCE,
    TokenType.START_TAG: TokenKind.START,
    TokenType.END_TAG: TokenKind.END,
}


def html_tokens(text: str, start: int, end: int) -> Iterator[HtmlToken]:
    """Yield the tokens of the HTML between two offsets, without gaps."""
    source = text[start:end].translate(_NORMALIZED)
    lines = list(accumulate((len(line) + 1 for line in source.split("\n")), initial=start))
    position, words = start, ""
    for token in tokenize(source, resolve_references=False, capture_source=True):
        begin = lines[token.line - 1] + token.col
        yield from _text_tokens(source, position, begin, words, start)
        if token.type is TokenType.TEXT:
            position, words = begin, token.data or ""
        else:
            position, words = begin + len(token.source or ""), ""
            yield _markup(token, begin, position)
    yield from _text_tokens(source, position, end, words, start)


def _markup(token: Token, start: int, end: int) -> HtmlToken:
    kind = _MARKUP.get(token.type, TokenKind.OTHER)
    attributes = token.attrs if kind is TokenKind.START else None
    return HtmlToken(kind, start, end, token.data or "", token.tag or "", tuple(attributes or ()))


def _text_tokens(source: str, start: int, end: int, words: str, offset: int) -> Iterator[HtmlToken]:
    """Yield the words between two offsets, and the skipped markup."""
    raw, remaining = source[start - offset : end - offset], len(words)
    chunks = [raw] if raw == words else raw.split(_EMPTY_END_TAG)
    position = start
    for index, chunk in enumerate(chunks):
        if remaining and index:
            yield HtmlToken(TokenKind.OTHER, position, position + len(_EMPTY_END_TAG))
            position += len(_EMPTY_END_TAG)
        if read := chunk[:remaining]:
            yield HtmlToken(TokenKind.WORDS, position, position + len(read))
            position += len(read)
            remaining -= len(read)
    if position < end:
        yield HtmlToken(TokenKind.OTHER, position, end)
