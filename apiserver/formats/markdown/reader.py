"""Markdown reader: paragraphs and cells become blocks, emphasis and links become placeholders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from apiserver.formats.document import Block, Document
from apiserver.formats.document_builder import DocumentBuilder
from apiserver.formats.html.reader import HtmlReader, html_escape
from apiserver.formats.html.tokens import TokenKind, html_tokens
from apiserver.formats.markdown.escaping import MarkdownWriter, writing
from apiserver.formats.markdown.events import AUTOLINKS, EventKind, MarkdownEvent, defines_references, markdown_events
from apiserver.formats.markdown.inline_reader import InlineReader
from apiserver.formats.tag_nesting import BlockBuilder

_EDGES: Final = (EventKind.START, EventKind.END)
_INLINE: Final = frozenset({"Emphasis", "Strong", "Strikethrough", "Link", "Image"})
_WHOLE: Final = frozenset({"CodeBlock", "MetadataBlock", "HtmlBlock", "Image"})
_MATH: Final = frozenset({"InlineMath", "DisplayMath"})


def markdown_document(text: str) -> Document:
    """Parse CommonMark with GitHub's additions."""
    # Events are read twice rather than kept: they take 300 bytes for each character of markup.
    has_math = "$" in text and any(event.tag in _MATH for event in markdown_events(text))
    reader = _MarkdownReader(text, has_math=has_math)
    for event in markdown_events(text):
        reader.read(event)
    return reader.document()


class _MarkdownReader:
    """Reads events into blocks."""

    def __init__(self, text: str, *, has_math: bool) -> None:
        self._text = text
        self._document = DocumentBuilder(text, 0, len(text))
        self._builder = BlockBuilder(text, self._document, self._finish_block)
        self._html_builder = BlockBuilder(text, self._document, _finish_html_block)
        self._html = HtmlReader(text, self._document)
        self._writer = MarkdownWriter(math=has_math)
        self._inline = InlineReader(text, self._builder, self._html, self._writer)
        self._has_references = defines_references(text)
        self._is_heading = self._is_cell = False
        self._whole: MarkdownEvent | None = None  # an element that is read at its end, with its events
        self._inner: list[MarkdownEvent] = []

    def document(self) -> Document:
        """Return the document of all events."""
        self._builder.end_block()
        return Document(self._document.parts())

    def read(self, event: MarkdownEvent) -> None:
        """Read the next event."""
        if self._whole is not None:
            self._read_inside(self._whole, event)
            return
        if event.kind is EventKind.OTHER or (event.kind in _EDGES and event.tag not in _INLINE):
            self._end_block(event)
        else:
            self._inline.read(event)
        if event.kind is EventKind.START and (event.tag in _WHOLE or event.detail in AUTOLINKS):
            self._whole, self._inner = event, []

    def _read_inside(self, whole: MarkdownEvent, event: MarkdownEvent) -> None:
        is_end = (event.tag, event.start, event.end) == (whole.tag, whole.start, whole.end)
        if event.kind is not EventKind.END or not is_end:
            self._inner.append(event)
            return
        self._whole = None
        if whole.tag == "HtmlBlock":
            self._read_html(self._inner)
        elif whole.tag in _INLINE:
            self._inline.read_whole(whole, self._inner)
        # Code and front matter stay verbatim.

    def _end_block(self, event: MarkdownEvent) -> None:
        self._inline.end_block(event)
        starts = event.kind is EventKind.START
        if event.tag == "Heading":
            self._is_heading = starts and self._text.startswith("#", event.start)
        elif event.tag == "TableCell":
            self._is_cell = starts

    def _read_html(self, lines: Sequence[MarkdownEvent]) -> None:
        """Read a block of HTML; inside a quotation it stays verbatim."""
        if not lines or any(before.end != line.start for before, line in pairwise(lines)):
            return
        line_end = lines[0].end
        for token in html_tokens(self._text, lines[0].start, lines[-1].end):
            if token.kind is TokenKind.WORDS and token.start < line_end < token.end:
                # A tag alone on the first line starts the block, so its line end must stay.
                self._html.read(replace(token, end=line_end), self._html_builder)
                self._html.end_block(self._html_builder)
                self._html.read(replace(token, start=line_end), self._html_builder)
            else:
                self._html.read(token, self._html_builder)
        self._html.end_block(self._html_builder)

    def _finish_block(self, start: int, block: Block) -> Block:
        syntax = "".join(placeholder.source for placeholder in block.placeholders if not placeholder.is_text)
        may_have_brackets = (
            "[" in block.text and "\\[" not in block.source and "[" not in syntax and not self._has_references
        )
        block.escape, block.join = writing(
            line_start=self._inline.is_line_start(start) and not self._is_heading and not self._is_cell,
            heading=self._is_heading,
            cell=self._is_cell,
            brackets=not may_have_brackets,
            math=self._writer.math,
            has_reference="&nbsp;" in block.source,
        )
        return block


def _finish_html_block(_start: int, block: Block) -> Block:
    """Avoid new line ends, because a blank line would end the block."""
    escape = html_escape(block.source)

    def escape_on_one_line(words: str) -> str:
        return " ".join(escape(words).splitlines())

    block.escape = escape if "\n" in block.text else escape_on_one_line
    return block
