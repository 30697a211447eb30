"""Writes a document again, with its words unchanged or replaced."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from apiserver.formats.document import Block, Document, Part, placeholder_index, unescaped
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat

_PLACEHOLDER = re.compile("([\U000f0000-\U0010fffd])")


def source_of(document: Document) -> str:
    return "".join(part if isinstance(part, str) else part.source for part in document.parts)


def write(document: Document, words: Callable[[str], str] = unescaped) -> str:
    """Every block with its words changed, its placeholders in their places."""
    return _join(document.parts, words)


def translate(text: str, text_format: TextFormat, word: str = "X") -> str:
    """Write every word of a text as another, the way a translation would replace it."""
    return write(parse(text, text_format), lambda part: re.sub(r"[^\W\d_]+", lambda _: word, part))


def _join(parts: tuple[Part, ...], words: Callable[[str], str]) -> str:
    return "".join(part if isinstance(part, str) else _block(part, words) for part in parts)


def _block(block: Block, words: Callable[[str], str]) -> str:
    placeholders = [
        replace(placeholder, target=_join(placeholder.inner_parts, words)) if placeholder.inner_parts else placeholder
        for placeholder in block.placeholders
    ]
    parts = _PLACEHOLDER.split(block.text)
    parts[0::2] = [words(part) if part else "" for part in parts[0::2]]
    return replace(block, placeholders=tuple(placeholders)).write("".join(parts))


def shown(block: Block) -> str:
    """A block's text with its placeholders' numbers in brackets."""
    return _PLACEHOLDER.sub(lambda match: f"⟦{placeholder_index(match[0])}⟧", block.text)


def texts(document: Document) -> list[str]:
    return [shown(block) for block in document.blocks]
