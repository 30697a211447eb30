"""Identity: which texts are their own translation. Pure; both servers ask."""

from __future__ import annotations

import re
from typing import Final

from shared.literals import PATTERN

_LITERAL_OR_LETTER: Final = re.compile(rf"{PATTERN}|(?P<letter>[^\W\d_])")
# Letters by their category, symbols by their use: the information sign (an emoji) and the ordinal indicators.
_SYMBOLS: Final = frozenset("ℹªº")


def needs_translation(text: str) -> bool:
    """Say whether a text has letters outside of what survives literally (addresses, placeholders, quantities).

    False for blank text, digits, punctuation, emoji, an address alone. A single letter is a word. Time linear in what
    stands before the first such letter.
    """
    return any(
        match.lastgroup == "letter" and match.group().isalpha() and match.group() not in _SYMBOLS
        for match in _LITERAL_OR_LETTER.finditer(text)
    )
