"""HTML: text between block-level tags makes blocks, inline elements marks; the rest stays as it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from apiserver.formats.block_builder import BlockBuilder
from apiserver.formats.document import Block, Document, PlaceholderKind
from apiserver.formats.document_builder import DocumentBuilder
from apiserver.formats.html.attributes import attribute_blocks
from apiserver.formats.html.elements import BLOCK_LEVEL, VOID, Element, OpenElements
from apiserver.formats.html.tokens import HtmlToken, TokenKind, html_tokens
from apiserver.formats.runs import TextRun

# White space that words may hold as it is; any other that was written as a reference stays one.
_PLAIN_SPACE: Final = frozenset(" \u00a0")
_NO_BREAK_SPACES: Final = ("&nbsp;", "&#160;", "&#xa0;")


def html_document(text: str) -> Document:
    """Take a document or a fragment apart."""
    splice = DocumentBuilder(text, 0, len(text))
    stretch = BlockBuilder(text, splice, _finish)
    reader = HtmlReader(text, splice)
    for token in html_tokens(text, 0, len(text)):
        reader.read(token, stretch)
    reader.end_block(stretch)
    return Document(splice.parts())


def _finish(_start: int, block: Block) -> Block:
    return replace(block, escape=html_escape(block.source))


def html_escape(source: str) -> Callable[[str], str]:
    """Return how words are written where this source stood: no-break spaces as they were there."""
    lowered = source.lower()
    return partial(_escaped, no_break_space=next((ref for ref in _NO_BREAK_SPACES if ref in lowered), "\u00a0"))


def _escaped(words: str, *, no_break_space: str) -> str:
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("\u00a0", no_break_space)


class HtmlReader:
    """Reads tokens into stretches, and knows which elements are open."""

    def __init__(self, text: str, splice: DocumentBuilder) -> None:
        self._text = text
        self._splice = splice
        self.elements = OpenElements()

    def read(self, token: HtmlToken, stretch: BlockBuilder) -> None:
        """Take the next token; a block-level tag is a border."""
        match token.kind:
            case TokenKind.WORDS | TokenKind.REFERENCE:
                stretch.add(self._words(token))
            case TokenKind.START:
                self._start(token, stretch)
            case TokenKind.END:
                self._end(token, stretch)
            case TokenKind.OTHER:
                stretch.add(TextRun(token.start, token.end, self.elements.current.kept_as or PlaceholderKind.ALONE))

    def end_block(self, stretch: BlockBuilder) -> None:
        """End the stretch: no word behind belongs to those before."""
        stretch.end_block(keep_space=self.elements.current.keeps_whitespace)

    def _words(self, token: HtmlToken) -> TextRun:
        keep = self.elements.current.kept_as
        if keep is not None:
            return TextRun(token.start, token.end, keep)
        if token.kind is TokenKind.WORDS:
            return TextRun(token.start, token.end, words=self._text[token.start : token.end])
        if token.words.isspace() and token.words not in _PLAIN_SPACE:
            return TextRun(token.start, token.end, PlaceholderKind.ALONE)
        return TextRun(token.start, token.end, words=token.words)

    def _start(self, token: HtmlToken, stretch: BlockBuilder) -> None:
        outer = self.elements.current
        is_closed = self._text[token.end - 2] == "/"
        element = self.elements.start(token.tag, dict(token.attributes), is_closed=is_closed)
        placed = attribute_blocks(self._text, token) if element.kept_as is None else ()
        if _is_border(token.tag, outer, element):
            stretch.end_block(keep_space=outer.keeps_whitespace)
            for block in placed:
                self._splice.place(block)
            return
        kind = element.kept_as or (PlaceholderKind.ALONE if token.tag in VOID else PlaceholderKind.OPEN)
        stretch.add(TextRun(token.start, token.end, kind, name=token.tag, inner_blocks=placed))

    def _end(self, token: HtmlToken, stretch: BlockBuilder) -> None:
        inner = self.elements.current
        ended = self.elements.end(token.tag)
        if _is_border(token.tag, ended, self.elements.current):
            stretch.end_block(keep_space=inner.keeps_whitespace)
        else:
            stretch.add(TextRun(token.start, token.end, ended.kept_as or PlaceholderKind.CLOSE, name=token.tag))


def _is_border(tag: str, left: Element, entered: Element) -> bool:
    """Say whether a tag parts sentences: inside what is kept (a drawing's title) there are none."""
    return tag in BLOCK_LEVEL and (left.kept_as is None or entered.kept_as is None)
