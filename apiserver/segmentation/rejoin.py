"""Rejoin: the spacing between translated segments."""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from unicodedata import category, east_asian_width

import langcodes

from apiserver.formats.document import placeholder_index

# Scripts without blanks between words; dense ones have none between sentences either.
_DENSE: Final = frozenset({"Hans", "Hant", "Jpan"})
_UNSPACED: Final = _DENSE | {"Thai", "Laoo", "Khmr", "Mymr", "Tibt"}
_CACHED_TAGS: Final = 1024


def separator(gap: str, before: str, after: str, source: str, target: str) -> str:
    """Return the text between two translated segments of one line.

    It differs from the source's ``gap`` if only one script writes blanks. Hard space stays.
    """
    left = next((char for char in reversed(before) if placeholder_index(char) is None), "")
    right = next((char for char in after if placeholder_index(char) is None), "")
    if not left or not right:
        return gap
    from_script, to_script = _script(source), _script(target)
    if not gap and from_script in _UNSPACED and to_script not in _DENSE:
        is_closing = category(right) in {"Pe", "Pf"} or right in ",.;:!?…%"
        is_separated = left.isspace() or right.isspace() or category(left) in {"Ps", "Pi"} or is_closing
        return "" if is_separated else " "
    if gap == " " and from_script not in _DENSE and to_script in _DENSE and _is_wide(left) and _is_wide(right):
        return ""
    return gap


@lru_cache(maxsize=_CACHED_TAGS)
def _script(tag: str) -> str:
    return langcodes.Language.get(tag).maximize().script or ""


def _is_wide(char: str) -> bool:
    return east_asian_width(char) in {"W", "F"} or char in "“”‘’…—"
