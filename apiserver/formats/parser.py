"""Parser: splits a text into verbatim parts and blocks of words.

Everything except words comes back byte for byte, even malformed HTML and Markdown (docs/decisions/0008-markup.md).
"""

from __future__ import annotations

from apiserver.formats.document import (
    MAX_PLACEHOLDERS,
    Block,
    Document,
    Placeholder,
    has_words,
    joined_lines,
    replace_private_chars,
)
from apiserver.formats.html_reader import html_document
from apiserver.formats.markdown_reader import markdown_document
from apiserver.formats.xml_reader import xml_document
from shared.protocol.translate_request import SentenceSplitting, TextFormat, XmlOptions


def parse(
    text: str, text_format: TextFormat, splitting: SentenceSplitting | None = None, xml: XmlOptions | None = None
) -> Document:
    """Parse a text; unknown syntax stays verbatim, except in XML.

    200,000 characters take 0.4 s, with the worst markup 2 s: parse long texts in a thread.

    Raises:
        XmlSyntaxError: the XML is not well-formed.
    """
    keep_space = splitting is SentenceSplitting.LINES_AND_SENTENCES
    match text_format:
        case TextFormat.TEXT:
            return _plain_document(text, join_lines=splitting is SentenceSplitting.SENTENCES)
        case TextFormat.HTML:
            return html_document(text, keep_space=keep_space)
        case TextFormat.MARKDOWN:
            return markdown_document(text)
        case TextFormat.XML:
            return xml_document(text, xml or XmlOptions(), keep_space=keep_space)


def _plain_document(text: str, *, join_lines: bool) -> Document:
    placeholders: list[Placeholder] = []
    words = replace_private_chars(joined_lines(text) if join_lines else text, placeholders)
    if not has_words(text) or len(placeholders) > MAX_PLACEHOLDERS:
        return Document((text,) if text else ())
    return Document((Block(words, tuple(placeholders), text),))
