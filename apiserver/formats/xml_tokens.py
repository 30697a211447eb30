"""XML tokens that cover a well-formed text without gaps.

Not checked, because nothing here depends on it: repeated attributes, declarations, the order around the root element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from shared.protocol.translate_request import XML_NAME


class XmlSyntaxError(ValueError):
    """The text is not well-formed; the message names the place."""

    def __init__(self, text: str, offset: int, problem: str) -> None:
        super().__init__(f"is not well-formed XML: {_place(text, offset)}: {problem}")


def _place(text: str, offset: int) -> str:
    column = offset - text.rfind("\n", 0, offset)
    return f"line {text.count(chr(10), 0, offset) + 1}, column {column}"


class XmlTokenKind(Enum):
    """The kind of a token."""

    WORDS = auto()  # literal characters
    REFERENCE = auto()  # &amp;
    START = auto()
    END = auto()
    EMPTY = auto()  # <br/>
    CDATA = auto()
    OTHER = auto()  # a comment, a declaration, a processing instruction


@dataclass(slots=True)
class XmlToken:
    """A part of the text; ``name`` is a tag's."""

    kind: XmlTokenKind
    start: int
    end: int
    name: str = ""


# 2.2 "Characters"
_ILLEGAL: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_WORDS: Final = re.compile("[^<&]++")
_REFERENCE: Final = re.compile(rf"&(?:{XML_NAME}|#[0-9]{{1,7}}+|#x[0-9A-Fa-f]{{1,6}}+);")
_END_TAG: Final = re.compile(rf"</({XML_NAME})[ \t\r\n]*+>")
_START_TAG: Final = re.compile(
    rf"<({XML_NAME})(?:[ \t\r\n]++{XML_NAME}[ \t\r\n]*+=[ \t\r\n]*+(?:\"[^<\"]*+\"|'[^<']*+'))*+[ \t\r\n]*+(/?)>"
)
# With an internal subset, in which quotes and comments may hold brackets.
_DOCTYPE: Final = re.compile(
    r"<!DOCTYPE(?:[^\[\]<>\"']++|\"[^\"]*+\"|'[^']*+')*+"
    r"(?:\[(?:[^\]\"'<]++|\"[^\"]*+\"|'[^']*+'|<!--(?:[^-]++|-(?!->))*+-->|<(?!!--))*+\][ \t\r\n]*+)?>"
)
# Openings of what ends at a fixed string, with the name for errors.
_DELIMITED: Final = (
    ("<!--", "-->", XmlTokenKind.OTHER, "comment"),
    ("<![CDATA[", "]]>", XmlTokenKind.CDATA, "CDATA section"),
    ("<?", "?>", XmlTokenKind.OTHER, "processing instruction"),
)


def xml_tokens(text: str) -> Iterator[XmlToken]:
    """Yield the tokens; linear time.

    Raises:
        XmlSyntaxError: the text is not well-formed.
    """
    if (illegal := _ILLEGAL.search(text)) is not None:
        raise XmlSyntaxError(text, illegal.start(), "this control character is not allowed")
    openings: list[XmlToken] = []
    position = 0
    while position < len(text):
        token = _token_at(text, position)
        match token.kind:
            case XmlTokenKind.START:
                openings.append(token)
            case XmlTokenKind.END:
                _close(text, openings, token)
            case _:
                pass
        yield token
        position = token.end
    if openings:
        raise XmlSyntaxError(text, openings[-1].start, "this element is never closed")


def _close(text: str, openings: list[XmlToken], end: XmlToken) -> None:
    if not openings:
        raise XmlSyntaxError(text, end.start, "this end tag closes no element")
    opening = openings.pop()
    if opening.name != end.name:
        place = _place(text, opening.start)
        raise XmlSyntaxError(text, end.start, f"this end tag has another name than the element opened at {place}")


def _token_at(text: str, position: int) -> XmlToken:
    if (words := _WORDS.match(text, position)) is not None:
        return XmlToken(XmlTokenKind.WORDS, position, words.end())
    if text[position] == "&":
        if (reference := _REFERENCE.match(text, position)) is None:
            raise XmlSyntaxError(text, position, "& begins no reference; write &amp;")
        return XmlToken(XmlTokenKind.REFERENCE, position, reference.end())
    for opening, closing, kind, name in _DELIMITED:
        if text.startswith(opening, position):
            end = text.find(closing, position + len(opening))
            if end < 0:
                raise XmlSyntaxError(text, position, f"this {name} does not end")
            return XmlToken(kind, position, end + len(closing))
    if (tag := _START_TAG.match(text, position)) is not None:
        return XmlToken(XmlTokenKind.EMPTY if tag[2] else XmlTokenKind.START, position, tag.end(), tag[1])
    if (tag := _END_TAG.match(text, position)) is not None:
        return XmlToken(XmlTokenKind.END, position, tag.end(), tag[1])
    if (doctype := _DOCTYPE.match(text, position)) is not None:
        return XmlToken(XmlTokenKind.OTHER, position, doctype.end())
    raise XmlSyntaxError(text, position, "< begins no valid tag; write &lt;")
