"""Plain text: one block; its white space is the segmenter's business."""

from __future__ import annotations

from apiserver.formats.document import MAX_PLACEHOLDERS, Block, Document, Placeholder
from apiserver.formats.runs import has_words, replace_private_chars


def plain_document(text: str) -> Document:
    """Parse a plain text: one block, or none where nothing is to be translated."""
    placeholders: list[Placeholder] = []
    words = replace_private_chars(text, placeholders)
    if not has_words(text) or len(placeholders) > MAX_PLACEHOLDERS:
        return Document((text,) if text else ())
    return Document((Block(words, tuple(placeholders), text),))
