"""A document written again, with its words as they are or as a test wants them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from apiserver.formats.document import Block, Document, Part, placeholder_index, unescaped

_MARK = re.compile("([\U000f0000-\U0010fffd])")


def source_of(document: Document) -> str:
    return "".join(part if isinstance(part, str) else part.source for part in document.parts)


def written(document: Document, words: Callable[[str], str] = unescaped) -> str:
    """Every block with its words changed, its marks where they were."""
    return _joined(document.parts, words)


def _joined(parts: tuple[Part, ...], words: Callable[[str], str]) -> str:
    return "".join(part if isinstance(part, str) else _block(part, words) for part in parts)


def _block(block: Block, words: Callable[[str], str]) -> str:
    marks = [
        replace(mark, target=_joined(mark.inner_parts, words)) if mark.inner_parts else mark
        for mark in block.placeholders
    ]
    pieces = _MARK.split(block.text)
    pieces[0::2] = [words(piece) if piece else "" for piece in pieces[0::2]]
    return replace(block, placeholders=tuple(marks)).write("".join(pieces))


def seen(block: Block) -> str:
    """A block's text with its marks' numbers in brackets."""
    return _MARK.sub(lambda match: f"⟦{placeholder_index(match[0])}⟧", block.text)


def texts(document: Document) -> list[str]:
    return [seen(block) for block in document.blocks]
