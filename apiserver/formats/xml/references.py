"""References of XML: characters they stand for, and how words are written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

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
