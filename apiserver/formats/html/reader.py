"""HTML reader: text between block-level tags becomes blocks, inline elements become placeholders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from apiserver.formats.document import Block, Document, PlaceholderKind
from apiserver.formats.document_builder import PLAIN_SPACES, DocumentBuilder, TextRun
from apiserver.formats.html.attributes import attribute_blocks
from apiserver.formats.html.elements import BLOCK_LEVEL, VOID, Element, OpenElements
from apiserver.formats.html.tokens import HtmlToken, TokenKind, html_tokens
from apiserver.formats.tag_nesting import BlockBuilder

_NO_BREAK_SPACES: Final = ("&nbsp;", "&#160;", "&#xa0;")


def html_document(text: str, *, keep_space: bool = False) -> Document:
    """Parse a document or a fragment.

    ``keep_space``: line breaks stay outside of ``pre`` too.
    """
    document = DocumentBuilder(text, 0, len(text))
    builder = BlockBuilder(text, document, _finish_block)
    reader = HtmlReader(text, document, keep_space=keep_space)
    for token in html_tokens(text, 0, len(text)):
        reader.read(token, builder)
    reader.end_block(builder)
    return Document(document.parts())


def _finish_block(_start: int, block: Block) -> Block:
    block.escape = html_escape(block.source)
    return block


def html_escape(source: str) -> Callable[[str], str]:
    """Return an escape that writes no-break spaces as ``source`` does."""
    if "&" in source:
        lowered = source.lower()
        for spelling, escape in _SPELLED_ESCAPES.items():
            if spelling in lowered:
                return escape
    return _ESCAPE


def _escaped(words: str, *, no_break_space: str) -> str:
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("\u00a0", no_break_space)


# Made once, because a text may have 50,000 blocks.
_ESCAPE: Final = partial(_escaped, no_break_space="\u00a0")
_SPELLED_ESCAPES: Final = {spelling: partial(_escaped, no_break_space=spelling) for spelling in _NO_BREAK_SPACES}


class HtmlReader:
    """Reads tokens into runs, and keeps the open elements."""

    def __init__(self, text: str, document: DocumentBuilder, *, keep_space: bool = False) -> None:
        self._text = text
        self._document = document
        self._keep_space = keep_space
        self.elements = OpenElements()

    def read(self, token: HtmlToken, builder: BlockBuilder) -> None:
        """Read the next token; a block-level tag ends the block."""
        match token.kind:
            case TokenKind.WORDS | TokenKind.REFERENCE:
                builder.add(self._words(token))
            case TokenKind.START:
                self._start(token, builder)
            case TokenKind.END:
                self._end(token, builder)
            case TokenKind.OTHER:
                builder.add(TextRun(token.start, token.end, self.elements.current.kept_as or PlaceholderKind.ALONE))

    def end_block(self, builder: BlockBuilder) -> None:
        """End the block behind the last token."""
        builder.end_block(keep_space=self._keep_space or self.elements.current.keeps_whitespace)

    def _words(self, token: HtmlToken) -> TextRun:
        kept_as = self.elements.current.kept_as
        if kept_as is not None:
            return TextRun(token.start, token.end, kept_as)
        if token.kind is TokenKind.WORDS:
            return TextRun(token.start, token.end, words=self._text[token.start : token.end])
        if token.words.isspace() and token.words not in PLAIN_SPACES:
            return TextRun(token.start, token.end, PlaceholderKind.ALONE)
        return TextRun(token.start, token.end, words=token.words)

    def _start(self, token: HtmlToken, builder: BlockBuilder) -> None:
        outer = self.elements.current
        is_closed = self._text[token.end - 2] == "/"
        element = self.elements.start(token.tag, dict(token.attributes), is_closed=is_closed)
        blocks = attribute_blocks(self._text, token) if element.kept_as is None else ()
        if _is_block_border(token.tag, outer, element):
            builder.end_block(keep_space=self._keep_space or outer.keeps_whitespace)
            for block in blocks:
                self._document.place(block)
            return
        kind = element.kept_as or (PlaceholderKind.ALONE if token.tag in VOID else PlaceholderKind.OPEN)
        builder.add(TextRun(token.start, token.end, kind, name=token.tag, inner_blocks=blocks))

    def _end(self, token: HtmlToken, builder: BlockBuilder) -> None:
        inner = self.elements.current
        ended = self.elements.end(token.tag)
        if _is_block_border(token.tag, ended, self.elements.current):
            builder.end_block(keep_space=self._keep_space or inner.keeps_whitespace)
        else:
            builder.add(TextRun(token.start, token.end, ended.kept_as or PlaceholderKind.CLOSE, name=token.tag))


def _is_block_border(tag: str, left: Element, entered: Element) -> bool:
    """Return whether a tag separates blocks; inside verbatim content (svg) none does."""
    return tag in BLOCK_LEVEL and (left.kept_as is None or entered.kept_as is None)
