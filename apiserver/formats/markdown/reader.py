"""Markdown: paragraphs, headings, items and cells make blocks, emphasis and links marks; the rest stays as it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from apiserver.formats.block_builder import BlockBuilder
from apiserver.formats.document import Block, Document, PlaceholderKind
from apiserver.formats.document_builder import DocumentBuilder
from apiserver.formats.html.reader import HtmlReader, html_escape
from apiserver.formats.html.tokens import TokenKind, html_tokens
from apiserver.formats.markdown.escaping import MarkdownWriter
from apiserver.formats.markdown.events import EventKind, MarkdownEvent, defines_references, markdown_events
from apiserver.formats.markdown.links import closing_target, image_blocks, title_block
from apiserver.formats.markdown.spans import Spans
from apiserver.formats.runs import TextRun

_EDGES: Final = (EventKind.START, EventKind.END)
_INLINE: Final = frozenset({"Emphasis", "Strong", "Strikethrough", "Link", "Image"})
_WHOLE: Final = frozenset({"CodeBlock", "MetadataBlock", "HtmlBlock", "Image"})
_MATH: Final = frozenset({"InlineMath", "DisplayMath"})
_ADDRESSES: Final = frozenset({"Autolink", "Email"})
_PLAIN_SPACE: Final = frozenset(" \u00a0")
# What other dialects add to a line, and would be lost if it were joined with the next: the fences of ":::note" blocks,
# template tags, callouts that GitHub does not know, and attributes behind a heading.
_DIALECTS: Final = re.compile(
    r"^[ \t>]*+(?::{3,}[^\r\n]*+|\{%[^\r\n]*%\}[ \t]*+(?=[\r\n]|\Z)|\[![^\]\r\n]++\][^\r\n]*+)"
    r"|(?:(?<=[ \t])#++[ \t]*+)?\{[#.:][^{}\r\n]*+\}[ \t#]*+(?=[\r\n]|\Z)",
    re.MULTILINE,
)
# A line that was meant for the row of a table, but makes none.
_ROW: Final = re.compile(r"[ \t>]*+\|")
# An address that stands in the words as it is: GitHub makes it a link, so no backslash may get into it.
_ADDRESS: Final = re.compile(r"""(?:https?://|www\.)[^\s<>`$\[\]\\]*[^\s<>?!.,:*_~'"()\[\]`|$\\]""", re.IGNORECASE)


def markdown_document(text: str) -> Document:
    """Take CommonMark with GitHub's additions apart."""
    events = list(markdown_events(text))
    reader = _MarkdownReader(text, has_math=any(event.tag in _MATH for event in events))
    for event in events:
        reader.read(event)
    return reader.document()


class _MarkdownReader:
    """Reads events into stretches."""

    def __init__(self, text: str, *, has_math: bool) -> None:
        self._text = text
        self._splice = DocumentBuilder(text, 0, len(text))
        self._stretch = BlockBuilder(text, self._splice, self._finish)
        self._html_stretch = BlockBuilder(text, self._splice, _finish_html)
        self._html = HtmlReader(text, self._splice)
        self._dialects = Spans(_DIALECTS, text)
        self._addresses = Spans(_ADDRESS, text)
        self._has_references = defines_references(text)
        self._writer = MarkdownWriter(math=has_math)
        self._at = 0  # where the last inline event ended
        self._dialect: tuple[int, int] | None = None
        self._fresh_block = self._fresh_line = True
        self._depth = 0  # how many HTML elements were open where the block began
        self._heading = self._cell = False
        self._line_starts: set[int] = set()
        self._line_at = 0  # the last of them
        self._links: list[tuple[int, str]] = []  # of the open links, where the words begin, and the kind
        self._whole: MarkdownEvent | None = None  # what is read at its end, with the events in it
        self._inner: list[MarkdownEvent] = []

    def document(self) -> Document:
        """Return what was read."""
        self._stretch.end_block()
        return Document(self._splice.parts())

    def read(self, event: MarkdownEvent) -> None:
        """Take the next event."""
        if self._whole is not None:
            if event.kind is EventKind.END and (event.tag, event.start, event.end) == (
                self._whole.tag,
                self._whole.start,
                self._whole.end,
            ):
                whole, self._whole = self._whole, None
                self._read_whole(whole)
            else:
                self._inner.append(event)
            return
        if event.kind is EventKind.OTHER or (event.kind in _EDGES and event.tag not in _INLINE):
            self._border(event)
        else:
            self._read_inline(event)
        if event.kind is EventKind.START and (event.tag in _WHOLE or event.detail in _ADDRESSES):
            self._whole, self._inner = event, []

    def _border(self, event: MarkdownEvent) -> None:
        self._stretch.end_block()
        if not self._fresh_block:
            self._html.elements.truncate(self._depth)
        self._at = event.end if event.kind is EventKind.OTHER else max(self._at, event.start)
        self._fresh_block = self._fresh_line = True
        starts = event.kind is EventKind.START
        if event.tag == "Heading":
            self._heading = starts and self._text.startswith("#", event.start)
        elif event.tag == "TableCell":
            self._cell = starts

    def _read_inline(self, event: MarkdownEvent) -> None:
        if self._fresh_block:
            self._fresh_block, self._depth = False, len(self._html.elements)
        self._enter(self._dialects.at(event.end - 1 if event.kind is EventKind.END else event.start))
        keep = self._keep()
        begin, self._at = self._begin(event), event.end
        match event.kind:
            case EventKind.WORDS:
                self._add_words(begin, event)
            case EventKind.NAME:
                kind = PlaceholderKind.ALONE if event.tag == "FootnoteReference" else PlaceholderKind.NAME
                self._stretch.add(TextRun(begin, event.end, keep or kind))
            case EventKind.HTML:
                for token in html_tokens(self._text, event.start, event.end):
                    self._html.read(token, self._stretch)
            case EventKind.START:
                self._open(event, keep)
            case EventKind.END:
                self._close(begin, event, keep)
            case _:
                self._break(begin, event, keep)

    def _enter(self, dialect: tuple[int, int] | None) -> None:
        """Go into or out of what another dialect wrote; that is a border."""
        if dialect != self._dialect:
            self._dialect, self._fresh_line = dialect, True
            self._stretch.end_block()

    def _keep(self) -> PlaceholderKind | None:
        return self._html.elements.current.kept_as or (None if self._dialect is None else PlaceholderKind.ALONE)

    def _begin(self, event: MarkdownEvent) -> int:
        """Return where an event's own source begins, a backslash included; what no event told of is read first."""
        if event.kind is EventKind.END:
            return self._at if event.tag == "Link" else event.end - self._width(event)
        begin = event.start
        if event.kind is EventKind.WORDS and begin > self._at and self._text[begin - 1] == "\\":
            begin -= 1
        if self._fresh_line:
            self._fresh_line = False
            self._line_starts.add(begin)
            self._line_at = begin
        elif self._text[self._at : begin].strip():
            self._stretch.add(TextRun(self._at, begin, PlaceholderKind.ALONE))
        return begin

    def _break(self, begin: int, event: MarkdownEvent, keep: PlaceholderKind | None) -> None:
        self._fresh_line = True
        is_row = self._text.startswith("|", self._line_at) or _ROW.match(self._text, event.end) is not None
        if event.kind is EventKind.HARD_BREAK or is_row:
            self._stretch.end_block()
        else:
            self._stretch.add(TextRun(begin, event.end, keep, words=" "))

    def _add_words(self, begin: int, event: MarkdownEvent) -> None:
        words = event.detail
        if len(words) != event.end - event.start:  # a reference: &amp;
            stays = words.isspace() and words not in _PLAIN_SPACE
            self._add(begin, event.end, PlaceholderKind.ALONE if stays else None, words)
            return
        if begin < event.start:  # a backslash, and what it keeps from being markup
            self._add(begin, event.start + 1, None, self._text[event.start])
            begin = event.start + 1
        for dialect, start, end in self._dialects.within(begin, event.end):
            self._enter(dialect)
            for address, first, past in self._addresses.within(start, end):
                self._add(first, past, None if address is None else PlaceholderKind.NAME, self._text[first:past])

    def _add(self, start: int, end: int, kind: PlaceholderKind | None, words: str) -> None:
        self._stretch.add(TextRun(start, end, self._keep() or kind, words=words))

    def _open(self, event: MarkdownEvent, keep: PlaceholderKind | None) -> None:
        if event.tag == "Image" or event.detail in _ADDRESSES:
            return  # told of at its end
        self._at = event.start + self._width(event)
        if event.tag == "Link":
            self._links.append((self._at, event.detail))
        self._stretch.add(TextRun(event.start, self._at, keep or PlaceholderKind.OPEN, name=event.tag))

    def _close(self, begin: int, event: MarkdownEvent, keep: PlaceholderKind | None) -> None:
        if event.tag != "Link" or keep is not None:
            self._stretch.add(TextRun(begin, event.end, keep or PlaceholderKind.CLOSE, name=event.tag))
            return
        words_begin, kind = self._links.pop()
        if kind == "Collapsed" and self._text.startswith("[]", event.end):  # the parser's place for it ends before
            self._at += len("[]")
        target = closing_target(self._text[begin : self._at], self._text[words_begin:begin], kind)
        titles = title_block(self._text, begin, event.end, self._writer) if kind == "Inline" else ()
        self._stretch.add(
            TextRun(begin, self._at, PlaceholderKind.CLOSE, name=event.tag, inner_blocks=titles, target=target)
        )

    def _read_whole(self, whole: MarkdownEvent) -> None:
        keep = self._keep()
        match whole.tag:
            case "Image":
                placed = image_blocks(self._text, whole, self._inner, self._writer) if keep is None else ()
                self._stretch.add(TextRun(whole.start, whole.end, keep or PlaceholderKind.ALONE, inner_blocks=placed))
            case "Link":
                self._stretch.add(TextRun(whole.start, whole.end, keep or PlaceholderKind.NAME))
            case "HtmlBlock":
                self._read_html(self._inner)
            case _:
                pass  # code and front matter stay as they are

    def _read_html(self, lines: Sequence[MarkdownEvent]) -> None:
        """Read a block of HTML; one whose lines have something before them (a quotation's) stays as it is."""
        if not lines or any(before.end != line.start for before, line in pairwise(lines)):
            return
        line_end = lines[0].end
        for token in html_tokens(self._text, lines[0].start, lines[-1].end):
            if token.kind is TokenKind.WORDS and token.start < line_end < token.end:
                # A tag alone on the first line makes the block what it is, so the line's end has to stay.
                self._html.read(replace(token, end=line_end), self._html_stretch)
                self._html.end_block(self._html_stretch)
                self._html.read(replace(token, start=line_end), self._html_stretch)
            else:
                self._html.read(token, self._html_stretch)
        self._html.end_block(self._html_stretch)

    def _width(self, event: MarkdownEvent) -> int:
        """Return how many characters of an event's source open it; as many close what is no link."""
        if event.tag == "Strikethrough":
            return 2 if self._text.startswith("~~", event.start) else 1
        return 2 if event.tag == "Strong" else 1

    def _finish(self, start: int, block: Block) -> Block:
        syntax = "".join(mark.source for mark in block.placeholders if not mark.is_text)
        may_have_brackets = (
            "[" in block.text and "\\[" not in block.source and "[" not in syntax and not self._has_references
        )
        writer = replace(
            self._writer,
            line_start=start in self._line_starts and not self._heading and not self._cell,
            heading=self._heading,
            cell=self._cell,
            brackets=not may_have_brackets,
            no_break_space="&nbsp;" if "&nbsp;" in block.source else "\u00a0",
        )
        return replace(block, escape=writer.escape, join=writer.join)


def _finish_html(_start: int, block: Block) -> Block:
    """Words in a block of HTML get no line end that its words had not: a blank line would end it."""
    escape = html_escape(block.source)

    def escape_on_one_line(words: str) -> str:
        return " ".join(escape(words).splitlines())

    return replace(block, escape=escape if "\n" in block.text else escape_on_one_line)
