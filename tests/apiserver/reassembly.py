"""A document written again, with its words as they are or as a test wants them."""

from __future__ import annotations

import re
from collections.abc import Callable

from apiserver.document import Block, Document, as_it_is, mark_index

_MARK = re.compile("([\U000f0000-\U0010fffd])")


def source_of(document: Document) -> str:
    return "".join(part if isinstance(part, str) else part.source for part in document.parts)


def written(document: Document, words: Callable[[str], str] = as_it_is) -> str:
    """Every block with its words changed, its marks where they were."""

    def translation(block: Block) -> str:
        pieces = _MARK.split(block.text)
        pieces[0::2] = [words(piece) if piece else "" for piece in pieces[0::2]]
        return "".join(pieces)

    return "".join(
        part if isinstance(part, str) else part.written(translation(part), translation) for part in document.parts
    )


def seen(block: Block) -> str:
    """A block's text with its marks' numbers in brackets."""
    return _MARK.sub(lambda match: f"⟦{mark_index(match[0])}⟧", block.text)


def texts(document: Document) -> list[str]:
    return [seen(block) for block in document.blocks]
