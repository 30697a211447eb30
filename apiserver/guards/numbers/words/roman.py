"""Roman numerals, as of centuries and kings."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

# Up to 399, with the endings of French ordinals.
_NUMERAL: Final = re.compile(r"(?=[IVXLC])(C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))(?:er?|è?me|ième)?")
_VALUES: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def roman_value(word: str) -> int:
    """Return the value of roman numerals; 0 for other words."""
    match = _NUMERAL.fullmatch(word)
    if match is None:
        return 0
    values = [_VALUES[char] for char in match.group(1)]
    return sum(-value if value < following else value for value, following in pairwise([*values, 0]))
