"""Line breaks and other hard white space, as single spaces."""

from __future__ import annotations

import re
from typing import Final

# A single line break between words; an empty line separates paragraphs.
_SOFT_BREAK: Final = re.compile(r"(?<=\S)[^\S\r\n]*+(?:\r\n?|\n)[^\S\r\n]*+(?=\S)")
# All white space between words, except a single blank, no-break or narrow no-break space.
_INNER_SPACE: Final = re.compile(r"(?<=\S)(?:\s\s++|[^\S \u00a0\u202f])(?=\S)")


def joined(text: str) -> str:
    """Return the text with the lines of each paragraph joined by spaces."""
    return _SOFT_BREAK.sub(" ", text)


def as_one_line(text: str) -> str:
    """Return the text as one line; outer white space stays."""
    return _INNER_SPACE.sub(" ", text)
