"""XML reader: text between structural tags becomes blocks, other tags become placeholders."""

from __future__ import annotations

from apiserver.formats.document import Block, Document, PlaceholderKind
from apiserver.formats.document_builder import PLAIN_SPACES, DocumentBuilder, TextRun
from apiserver.formats.tag_nesting import BlockBuilder
from apiserver.formats.xml.outline import TokenRole, token_roles
from apiserver.formats.xml.references import character, xml_escape
from apiserver.formats.xml.tokens import XmlToken, XmlTokenKind, xml_tokens
from shared.protocol.translate_request import XmlOptions

_KINDS = {
    XmlTokenKind.START: PlaceholderKind.OPEN,
    XmlTokenKind.END: PlaceholderKind.CLOSE,
    XmlTokenKind.EMPTY: PlaceholderKind.ALONE,
    XmlTokenKind.CDATA: PlaceholderKind.NAME,
    XmlTokenKind.OTHER: PlaceholderKind.ALONE,
}


def xml_document(text: str, options: XmlOptions, *, keep_space: bool) -> Document:
    """Parse a document or a fragment.

    Without ``keep_space`` all white space of a block is single spaces.

    Raises:
        XmlSyntaxError: the text is not well-formed.
    """
    tokens = list(xml_tokens(text))
    document = DocumentBuilder(text, 0, len(text))
    builder = BlockBuilder(text, document, _finish_block)
    for token, role in zip(tokens, token_roles(text, tokens, options), strict=True):
        if role is TokenRole.BORDER:
            builder.end_block(keep_space=keep_space)
        else:
            builder.add(_run(text, token, role))
    builder.end_block(keep_space=keep_space)
    return Document(document.parts())


def _finish_block(_start: int, block: Block) -> Block:
    block.escape = xml_escape(block.source)
    return block


def _run(text: str, token: XmlToken, role: TokenRole) -> TextRun:
    if role is TokenRole.IGNORED:  # a name, because clients put placeholders there
        return TextRun(token.start, token.end, PlaceholderKind.NAME)
    if (kind := _KINDS.get(token.kind)) is not None:
        return TextRun(token.start, token.end, kind, name=token.name)
    words = text[token.start : token.end]
    if token.kind is XmlTokenKind.WORDS:
        return TextRun(token.start, token.end, words=words)
    char = character(words)
    if char is None:
        return TextRun(token.start, token.end, PlaceholderKind.NAME)
    if char.isspace() and char not in PLAIN_SPACES:
        return TextRun(token.start, token.end, PlaceholderKind.ALONE)
    return TextRun(token.start, token.end, words=char)
