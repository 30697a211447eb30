"""XML reader: text between structural tags becomes blocks, other tags become placeholders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Final

from apiserver.formats.document import PLAIN_SPACES, Block, Document, DocumentBuilder, PlaceholderKind, TextRun
from apiserver.formats.tag_nesting import BlockBuilder
from apiserver.formats.xml_tokens import XmlToken, XmlTokenKind, xml_tokens
from shared.protocol.translate_request import XmlOptions

_PREDEFINED: Final = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
# Spellings of characters that need no reference: the one that the source uses is kept.
_OPTIONAL: Final = (
    ("\u00a0", ("&nbsp;", "&#160;", "&#xa0;", "&#xA0;")),
    ('"', ("&quot;", "&#34;", "&#x22;")),
    ("'", ("&apos;", "&#39;", "&#x27;")),
)
_NO_BREAK_SPACE: Final = "&nbsp;"  # predefined only in HTML, but common
_ILLEGAL: Final = dict.fromkeys([*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF])


def character(reference: str) -> str | None:
    """Return a reference's character; None for others than XML's."""
    if reference == _NO_BREAK_SPACE:
        return "\u00a0"
    if not reference.startswith("&#"):
        return _PREDEFINED.get(reference)
    code = int(reference[3:-1], 16) if reference[2] == "x" else int(reference[2:-1])
    if code > 0x10FFFF or code in _ILLEGAL:
        return None
    return chr(code)


def xml_escape(source: str) -> Callable[[str], str]:
    """Return an escape that writes quotes and no-break spaces as ``source`` does."""
    spellings = tuple(
        (char, found)
        for char, references in _OPTIONAL
        if (found := next((each for each in references if each in source), None)) is not None
    )
    return partial(_escaped, spellings=spellings)


def _escaped(words: str, *, spellings: tuple[tuple[str, str], ...]) -> str:
    escaped = words.translate(_ILLEGAL).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for char, reference in spellings:
        escaped = escaped.replace(char, reference)
    return escaped


class TokenRole(Enum):
    """The role of a token in its sentence."""

    INLINE = auto()
    BORDER = auto()  # a tag between two sentences
    IGNORED = auto()  # a tag or the content of an ignored element


@dataclass(slots=True)
class _Element:
    parent: int
    name: str
    has_text: bool = False  # of its own
    is_ignored: bool = False
    is_border: bool = False


def token_roles(text: str, tokens: Sequence[XmlToken], options: XmlOptions) -> list[TokenRole]:
    """Return each token's role; linear time."""
    elements, owners = _elements(text, tokens)
    _mark(elements, options)
    roles: list[TokenRole] = []
    for token, owner in zip(tokens, owners, strict=True):
        element = elements[owner]
        if element.is_border and token.kind in {XmlTokenKind.START, XmlTokenKind.END, XmlTokenKind.EMPTY}:
            roles.append(TokenRole.BORDER)
        else:
            roles.append(TokenRole.IGNORED if element.is_ignored else TokenRole.INLINE)
    return roles


def _elements(text: str, tokens: Sequence[XmlToken]) -> tuple[list[_Element], list[int]]:
    """Return the elements, first the whole text, and each token's."""
    elements = [_Element(0, "")]
    owners: list[int] = []
    current = 0
    for token in tokens:
        match token.kind:
            case XmlTokenKind.START | XmlTokenKind.EMPTY:
                elements.append(_Element(current, token.name))
                owners.append(len(elements) - 1)
                if token.kind is XmlTokenKind.START:
                    current = len(elements) - 1
            case XmlTokenKind.END:
                owners.append(current)
                current = elements[current].parent
            case XmlTokenKind.OTHER:
                owners.append(current)
            case _:
                owners.append(current)
                if not text[token.start : token.end].isspace():
                    elements[current].has_text = True
    return elements, owners


def _mark(elements: Sequence[_Element], options: XmlOptions) -> None:
    splitting, kept = frozenset(options.splitting_tags), frozenset(options.non_splitting_tags)
    ignored = frozenset(options.ignore_tags)
    elements[0].is_border = True
    for element in elements[1:]:  # an element comes behind its parent
        parent = elements[element.parent]
        element.is_ignored = parent.is_ignored or element.name in ignored
        if parent.is_ignored or element.name in kept:
            continue
        is_structure = options.outline_detection and parent.is_border and not parent.has_text
        element.is_border = element.name in splitting or (is_structure and not element.is_ignored)
    # No pair of tags may have one end in a sentence and the other in another one.
    for element in reversed(elements[1:]):
        if element.is_border:
            elements[element.parent].is_border = True


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
