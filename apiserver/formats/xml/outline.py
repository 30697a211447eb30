"""Outline: the elements that separate sentences, and the ignored ones.

An element is structure if no text stands beside it or around it: then its tags separate sentences, as those named by
the client do. Other tags belong to their sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from apiserver.formats.xml.tokens import XmlToken, XmlTokenKind
from shared.protocol.translate_request import XmlOptions


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
