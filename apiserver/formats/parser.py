"""Parser: splits a text into verbatim parts and blocks of words.

Everything except words comes back byte for byte, even malformed markup (docs/decisions/0008-markup.md).
"""

from __future__ import annotations

from apiserver.formats.document import MAX_PLACEHOLDERS, Block, Document, Placeholder, has_words, replace_private_chars
from apiserver.formats.html.reader import html_document
from apiserver.formats.markdown.reader import markdown_document
from shared.protocol.messages import TextFormat


def parse(text: str, text_format: TextFormat) -> Document:
    """Parse a text; unknown syntax stays verbatim.

    200,000 characters take 0.4 s, with the worst markup 2 s: parse long texts in a thread.
    """
    match text_format:
        case TextFormat.TEXT:
            return _plain_document(text)
        case TextFormat.HTML:
            return html_document(text)
        case TextFormat.MARKDOWN:
            return markdown_document(text)


def _plain_document(text: str) -> Document:
    placeholders: list[Placeholder] = []
    words = replace_private_chars(text, placeholders)
    if not has_words(text) or len(placeholders) > MAX_PLACEHOLDERS:
        return Document((text,) if text else ())
    return Document((Block(words, tuple(placeholders), text),))
