"""Markdown reader: paragraphs and cells become blocks, emphasis and links become placeholders."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Final

from apiserver.formats.document import (
    PLAIN_SPACES,
    Block,
    Document,
    DocumentBuilder,
    PlacedBlock,
    PlaceholderKind,
    TextRun,
    word_blocks,
)
from apiserver.formats.html_reader import HtmlReader, html_escape
from apiserver.formats.html_tokens import TokenKind, html_tokens
from apiserver.formats.markdown_events import AUTOLINKS, EventKind, MarkdownEvent, defines_references, markdown_events
from apiserver.formats.markdown_writer import MarkdownWriter, writing
from apiserver.formats.tag_nesting import BlockBuilder

# A title without escapes or references; others stay verbatim. Possessive, so linear.
_CLOSING: Final = re.compile(
    r"""\]\(\s*+(?:<[^<>\r\n]*+>|[^\s<>"']++)\s++(?P<quote>["'])(?P<title>[^"'\\&<>\r\n]*+)(?P=quote)\s*+\)"""
)


def closing_target(raw: str, label: str, kind: str) -> str | None:
    """Return a link's closing in the translation; None if it is unchanged.

    The words of ``[words]`` and ``[words][]`` also name the definition, so the closing must keep that name.
    """
    return f"][{label}]" if (kind, raw) in {("Shortcut", "]"), ("Collapsed", "][]")} else None


def title_block(text: str, start: int, end: int, writer: MarkdownWriter) -> tuple[PlacedBlock, ...]:
    """Return the title's block in the closing of a link or image."""
    match = _CLOSING.fullmatch(text, start, end)
    return (
        ()
        if match is None
        else word_blocks(text, match.start("title"), match.end("title"), partial(_escaped, writer=writer))
    )


def image_blocks(
    text: str, image: MarkdownEvent, inner: Sequence[MarkdownEvent], writer: MarkdownWriter
) -> tuple[PlacedBlock, ...]:
    """Return the blocks of an image's title and plain alternative text."""
    if not inner or image.detail not in {"Inline", "Reference"}:
        return ()
    start, end = inner[0].start, inner[-1].end
    is_plain = all(event.kind is EventKind.WORDS for event in inner)
    if not is_plain or start != image.start + len("![") or text[start:end] != "".join(event.detail for event in inner):
        return ()
    return (
        *word_blocks(text, start, end, partial(_escaped, writer=writer)),
        *title_block(text, end, image.end, writer),
    )


def _escaped(words: str, *, writer: MarkdownWriter) -> str:
    return writer.escape(words).replace('"', '\\"').replace("'", "\\'")


# Syntax of other dialects that would break if its line were joined with the next: fences of ":::note" blocks, template
# tags, callouts that GitHub does not know, and attributes behind a heading.
_DIALECTS: Final = re.compile(
    r"^[ \t>]*+(?::{3,}[^\r\n]*+|\{%[^\r\n]*%\}[ \t]*+(?=[\r\n]|\Z)|\[![^\]\r\n]++\][^\r\n]*+)"
    r"|(?:(?<=[ \t])#++[ \t]*+)?\{[#.:][^{}\r\n]*+\}[ \t#]*+(?=[\r\n]|\Z)",
    re.MULTILINE,
)
# A line that looks like the row of a table, but is none.
_ROW: Final = re.compile(r"[ \t>]*+\|")
# A bare address: GitHub makes it a link, so it must not get a backslash.
_ADDRESS: Final = re.compile(r"""(?:https?://|www\.)[^\s<>`$\[\]\\]*[^\s<>?!.,:*_~'"()\[\]`|$\\]""", re.IGNORECASE)


class InlineReader:
    """Reads inline events into runs; keeps the position, line and open links."""

    def __init__(self, text: str, builder: BlockBuilder, html: HtmlReader, writer: MarkdownWriter) -> None:
        self._text = text
        self._builder = builder
        self._html = html
        self._writer = writer
        self._dialects = Spans(_DIALECTS, text)
        self._addresses = Spans(_ADDRESS, text)
        self._dialect: tuple[int, int] | None = None
        self._position = 0  # where the last inline event ended
        self._is_block_start = self._is_line_start = True
        self._outer_elements = 0  # HTML elements that were open at the block's start
        self._line_starts: set[int] = set()
        self._line_start = 0  # the last of them
        self._links: list[tuple[int, str]] = []  # of each open link, the start of the words, and the kind

    def end_block(self, event: MarkdownEvent) -> None:
        """End the block at an event between blocks."""
        self._builder.end_block()
        if not self._is_block_start:
            self._html.elements.truncate(self._outer_elements)
        self._position = event.end if event.kind is EventKind.OTHER else max(self._position, event.start)
        self._is_block_start = self._is_line_start = True

    def is_line_start(self, offset: int) -> bool:
        """Return whether a line's first inline event began at the offset."""
        return offset in self._line_starts

    def read(self, event: MarkdownEvent) -> None:
        """Read the next inline event."""
        if self._is_block_start:
            self._is_block_start, self._outer_elements = False, len(self._html.elements)
        self._enter(self._dialects.at(event.end - 1 if event.kind is EventKind.END else event.start))
        kept_as = self._kept_as()
        start, self._position = self._start(event), event.end
        match event.kind:
            case EventKind.WORDS:
                self._add_words(start, event)
            case EventKind.NAME:
                kind = PlaceholderKind.ALONE if event.tag == "FootnoteReference" else PlaceholderKind.NAME
                self._builder.add(TextRun(start, event.end, kept_as or kind))
            case EventKind.HTML:
                for token in html_tokens(self._text, event.start, event.end):
                    self._html.read(token, self._builder)
            case EventKind.START:
                self._open(event, kept_as)
            case EventKind.END:
                self._close(start, event, kept_as)
            case _:
                self._break(start, event, kept_as)

    def read_whole(self, whole: MarkdownEvent, inner: Sequence[MarkdownEvent]) -> None:
        """Read an image or an autolink, with the events inside it."""
        kept_as = self._kept_as()
        if whole.tag == "Image":
            blocks = image_blocks(self._text, whole, inner, self._writer) if kept_as is None else ()
            self._builder.add(TextRun(whole.start, whole.end, kept_as or PlaceholderKind.ALONE, inner_blocks=blocks))
        else:
            self._builder.add(TextRun(whole.start, whole.end, kept_as or PlaceholderKind.NAME))

    def _enter(self, dialect: tuple[int, int] | None) -> None:
        if dialect != self._dialect:
            self._dialect, self._is_line_start = dialect, True
            self._builder.end_block()

    def _kept_as(self) -> PlaceholderKind | None:
        return self._html.elements.current.kept_as or (None if self._dialect is None else PlaceholderKind.ALONE)

    def _start(self, event: MarkdownEvent) -> int:
        """Return an event's start, with its backslash; add text between events."""
        if event.kind is EventKind.END:
            return self._position if event.tag == "Link" else event.end - self._delimiter_length(event)
        start = event.start
        if event.kind is EventKind.WORDS and start > self._position and self._text[start - 1] == "\\":
            start -= 1
        if self._is_line_start:
            self._is_line_start = False
            self._line_starts.add(start)
            self._line_start = start
        elif self._text[self._position : start].strip():
            self._builder.add(TextRun(self._position, start, PlaceholderKind.ALONE))
        return start

    def _break(self, start: int, event: MarkdownEvent, kept_as: PlaceholderKind | None) -> None:
        self._is_line_start = True
        is_row = self._text.startswith("|", self._line_start) or _ROW.match(self._text, event.end) is not None
        if event.kind is EventKind.HARD_BREAK or is_row:
            self._builder.end_block()
        else:
            self._builder.add(TextRun(start, event.end, kept_as, words=" "))

    def _add_words(self, start: int, event: MarkdownEvent) -> None:
        words = event.detail
        if len(words) != event.end - event.start:  # a reference: &amp;
            is_kept = words.isspace() and words not in PLAIN_SPACES
            self._add(start, event.end, PlaceholderKind.ALONE if is_kept else None, words)
            return
        if start < event.start:  # a backslash and the escaped character
            self._add(start, event.start + 1, None, self._text[event.start])
            start = event.start + 1
        for dialect, part_start, part_end in self._dialects.within(start, event.end):
            self._enter(dialect)
            for address, run_start, run_end in self._addresses.within(part_start, part_end):
                kind = None if address is None else PlaceholderKind.NAME
                self._add(run_start, run_end, kind, self._text[run_start:run_end])

    def _add(self, start: int, end: int, kind: PlaceholderKind | None, words: str) -> None:
        self._builder.add(TextRun(start, end, self._kept_as() or kind, words=words))

    def _open(self, event: MarkdownEvent, kept_as: PlaceholderKind | None) -> None:
        if event.tag == "Image" or event.detail in AUTOLINKS:
            return  # read_whole reads it at its end
        self._position = event.start + self._delimiter_length(event)
        if event.tag == "Link":
            self._links.append((self._position, event.detail))
        self._builder.add(TextRun(event.start, self._position, kept_as or PlaceholderKind.OPEN, name=event.tag))

    def _close(self, start: int, event: MarkdownEvent, kept_as: PlaceholderKind | None) -> None:
        if event.tag != "Link" or kept_as is not None:
            self._builder.add(TextRun(start, event.end, kept_as or PlaceholderKind.CLOSE, name=event.tag))
            return
        label_start, kind = self._links.pop()
        if kind == "Collapsed" and self._text.startswith("[]", event.end):  # the parser's range excludes them
            self._position += len("[]")
        target = closing_target(self._text[start : self._position], self._text[label_start:start], kind)
        titles = title_block(self._text, start, event.end, self._writer) if kind == "Inline" else ()
        self._builder.add(
            TextRun(start, self._position, PlaceholderKind.CLOSE, name=event.tag, inner_blocks=titles, target=target)
        )

    def _delimiter_length(self, event: MarkdownEvent) -> int:
        """Return the length of the opening delimiter (closings of links differ)."""
        if event.tag == "Strikethrough":
            return 2 if self._text.startswith("~~", event.start) else 1
        return 2 if event.tag == "Strong" else 1


class Spans:
    """The places of a pattern in a text, in order."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._spans = [match.span() for match in pattern.finditer(text)]
        self._starts = [start for start, _ in self._spans]

    def at(self, offset: int) -> tuple[int, int] | None:
        """Return the span that contains an offset."""
        index = bisect_right(self._starts, offset) - 1
        return self._spans[index] if index >= 0 and offset < self._spans[index][1] else None

    def within(self, start: int, end: int) -> Iterator[tuple[tuple[int, int] | None, int, int]]:
        """Yield the parts between two offsets, each with its span."""
        index = max(0, bisect_right(self._starts, start) - 1)
        while start < end and index < len(self._spans):
            span = self._spans[index]
            part_start, part_end = max(span[0], start), min(span[1], end)
            index += 1
            if part_start < part_end:
                if start < part_start:
                    yield None, start, part_start
                yield span, part_start, part_end
                start = part_end
            elif part_start >= end:
                break
        if start < end:
            yield None, start, end


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
