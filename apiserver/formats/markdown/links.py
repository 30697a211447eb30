"""Links and images: the words inside their syntax, and a link's closing when its words have changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from apiserver.formats.document_builder import PlacedBlock, word_blocks
from apiserver.formats.markdown.escaping import MarkdownWriter
from apiserver.formats.markdown.events import EventKind, MarkdownEvent

# A title that is written without escapes or references; others stay as they are. Possessive, so linear.
_CLOSING: Final = re.compile(
    r"""\]\(\s*+(?:<[^<>\r\n]*+>|[^\s<>"']++)\s++(?P<quote>["'])(?P<title>[^"'\\&<>\r\n]*+)(?P=quote)\s*+\)"""
)


def closing_target(raw: str, label: str, kind: str) -> str | None:
    """Return how a link's closing must read in the translation; None where it can stay.

    The words of ``[words]`` and ``[words][]`` are the name of its definition too, and translated they name none.
    """
    return f"][{label}]" if (kind, raw) in {("Shortcut", "]"), ("Collapsed", "][]")} else None


def title_block(text: str, start: int, end: int, writer: MarkdownWriter) -> tuple[PlacedBlock, ...]:
    """Return the block of the title in the closing of a link or image between two offsets."""
    match = _CLOSING.fullmatch(text, start, end)
    return (
        ()
        if match is None
        else word_blocks(text, match.start("title"), match.end("title"), partial(_escaped, writer=writer))
    )


def image_blocks(
    text: str, image: MarkdownEvent, inner: Sequence[MarkdownEvent], writer: MarkdownWriter
) -> tuple[PlacedBlock, ...]:
    """Return the blocks of an image: its alternative text, if that holds no markup, and its title."""
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
