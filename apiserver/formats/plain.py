"""Plain text: one block; its white space is the segmenter's business."""

from __future__ import annotations

from apiserver.formats.document import MAX_PLACEHOLDERS, Block, Document, Placeholder
from apiserver.formats.runs import has_words, replace_private_chars


def plain_document(text: str) -> Document:
    """Take a plain text apart: all of it is words, or none of it where there are none to translate."""
    marks: list[Placeholder] = []
    words = replace_private_chars(text, marks)
    if not has_words(text) or len(marks) > MAX_PLACEHOLDERS:
        return Document((text,) if text else ())
    return Document((Block(words, tuple(marks), text),))
