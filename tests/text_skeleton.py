"""The white space of a text that its translation must keep exactly."""

from __future__ import annotations

import re
from typing import Final

_HARD_SPACE: Final = re.compile(r"\s{2,}|[^\S \u00a0\u202f]")


def skeleton(text: str) -> list[str]:
    """Return the white space at the beginning, each hard white space inside, and that at the end.

    The first and the last may be empty; a blank text is one item.
    """
    if not text.strip():
        return [text]
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return [text[:start], *(match[0] for match in _HARD_SPACE.finditer(text, start, end)), text[end:]]
