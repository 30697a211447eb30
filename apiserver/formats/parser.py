"""Parser: splits a text into what stays as it is and blocks of words.

An answer is the text itself with its words replaced, so in every format whatever is not words comes back byte for
byte, malformed markup included (docs/decisions/0008-markup.md).
"""

from __future__ import annotations

from apiserver.formats.document import Document
from apiserver.formats.html.reader import html_document
from apiserver.formats.markdown.reader import markdown_document
from apiserver.formats.plain import plain_document
from shared.protocol.messages import TextFormat


def parse(text: str, text_format: TextFormat) -> Document:
    """Parse a text; what a parser does not understand stays as it is.

    It takes 0.4 s for 200,000 characters of ordinary markup and 2 s for the worst: long texts belong in a thread.
    """
    match text_format:
        case TextFormat.TEXT:
            return plain_document(text)
        case TextFormat.HTML:
            return html_document(text)
        case TextFormat.MARKDOWN:
            return markdown_document(text)
