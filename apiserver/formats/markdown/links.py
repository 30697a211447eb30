"""Links and images: the words inside their syntax, and rewritten closings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from apiserver.formats.document_builder import PlacedBlock, word_blocks
from apiserver.formats.markdown.escaping import MarkdownWriter
from apiserver.formats.markdown.events import EventKind, MarkdownEvent

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
