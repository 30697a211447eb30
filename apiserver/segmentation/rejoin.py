"""Rejoin: the spacing between translated segments."""

from __future__ import annotations

from typing import Final
from unicodedata import category, east_asian_width

from apiserver.formats.document import placeholder_index
from shared.languages import language_and_script

# Scripts without blanks between words; dense ones have none between sentences either.
_DENSE: Final = frozenset({"Hans", "Hant", "Jpan"})
_UNSPACED: Final = _DENSE | {"Thai", "Laoo", "Khmr", "Mymr", "Tibt"}


def separator(gap: str, before: str, after: str, source: str, target: str) -> str:
    """Return the source's ``gap``, unless only one script writes blanks."""
    left = next((char for char in reversed(before) if placeholder_index(char) is None), "")
    right = next((char for char in after if placeholder_index(char) is None), "")
    if not left or not right:
        return gap
    from_script, to_script = language_and_script(source)[1], language_and_script(target)[1]
    if not gap and from_script in _UNSPACED and to_script not in _DENSE:
        is_closing = category(right) in {"Pe", "Pf"} or right in ",.;:!?…%"
        is_separated = left.isspace() or right.isspace() or category(left) in {"Ps", "Pi"} or is_closing
        return "" if is_separated else " "
    if gap == " " and from_script not in _DENSE and to_script in _DENSE and _is_wide(left) and _is_wide(right):
        return ""
    return gap


def _is_wide(char: str) -> bool:
    return east_asian_width(char) in {"W", "F"} or char in "“”‘’…—"
