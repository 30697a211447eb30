"""Scripts: the script of a letter, the scripts of a language, and how much a letter says."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from langcodes import Language

# A catalog serves a few dozen languages.
CACHED_TAGS: Final = 512
# More than the letters of a few languages together, Chinese among them.
CACHED_LETTERS: Final = 8192
LATIN: Final = "Latn"
UNKNOWN: Final = "Zyyy"

# First and last code point of the blocks that hold a script's letters (Unicode's Blocks.txt), by ISO 15924 names. Kana
# are one: no language is written in one of the two alone.
_BLOCKS: Final = (
    (0x0041, 0x024F, LATIN),
    (0x0250, 0x02AF, LATIN),
    (0x0370, 0x03FF, "Grek"),
    (0x0400, 0x052F, "Cyrl"),
    (0x0530, 0x058F, "Armn"),
    (0x0590, 0x05FF, "Hebr"),
    (0x0600, 0x06FF, "Arab"),
    (0x0750, 0x077F, "Arab"),
    (0x0870, 0x08FF, "Arab"),
    (0x0900, 0x097F, "Deva"),
    (0x0980, 0x09FF, "Beng"),
    (0x0A00, 0x0A7F, "Guru"),
    (0x0A80, 0x0AFF, "Gujr"),
    (0x0B00, 0x0B7F, "Orya"),
    (0x0B80, 0x0BFF, "Taml"),
    (0x0C00, 0x0C7F, "Telu"),
    (0x0C80, 0x0CFF, "Knda"),
    (0x0D00, 0x0D7F, "Mlym"),
    (0x0D80, 0x0DFF, "Sinh"),
    (0x0E00, 0x0E7F, "Thai"),
    (0x0E80, 0x0EFF, "Laoo"),
    (0x0F00, 0x0FFF, "Tibt"),
    (0x1000, 0x109F, "Mymr"),
    (0x10A0, 0x10FF, "Geor"),
    (0x1100, 0x11FF, "Hang"),
    (0x1200, 0x139F, "Ethi"),
    (0x1780, 0x17FF, "Khmr"),
    (0x1E00, 0x1EFF, LATIN),
    (0x1F00, 0x1FFF, "Grek"),
    (0x3005, 0x3007, "Hani"),
    (0x3040, 0x30FF, "Kana"),
    (0x3130, 0x318F, "Hang"),
    (0x31F0, 0x31FF, "Kana"),
    (0x3400, 0x9FFF, "Hani"),
    (0xAC00, 0xD7AF, "Hang"),
    (0xF900, 0xFAFF, "Hani"),
    (0xFB1D, 0xFB4F, "Hebr"),
    (0xFB50, 0xFDFF, "Arab"),
    (0xFE70, 0xFEFF, "Arab"),
    (0xFF21, 0xFF5A, LATIN),
    (0xFF66, 0xFF9F, "Kana"),
    (0x20000, 0x3FFFF, "Hani"),
)
_FIRSTS: Final = tuple(first for first, _, _ in _BLOCKS)
# How CLDR names what languages are written in, where that is several scripts.
_WRITTEN_IN: Final = {
    "Jpan": frozenset({"Kana", "Hani"}),
    "Kore": frozenset({"Hang", "Hani"}),
    "Hans": frozenset({"Hani"}),
    "Hant": frozenset({"Hani"}),
}
# How many Latin letters of English say as much as one of these, from the totals of the Tatoeba validation sentences
# (docs/decisions/0009-guards.md). All other scripts are alphabets: 1.
_WEIGHTS: Final = {"Hani": 3.1, "Kana": 1.5, "Hang": 2.2}
# Characters of the scripts whose letters count as more than one. Nearly all texts have none.
_HEAVY: Final = re.compile(
    "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last, script in _BLOCKS if script in _WEIGHTS) + "]"
)
# A letter or digit behind Latin's first blocks. Nearly all texts have none, and need no look at each letter's script.
_BEHIND_LATIN: Final = re.compile(f"[^\0-{chr(_BLOCKS[0][1])}\\W]")


@lru_cache(maxsize=CACHED_LETTERS)
def script_of(char: str) -> str:
    """Return the script of a letter; UNKNOWN for one of a script that is not listed."""
    code = ord(char)
    index = bisect_right(_FIRSTS, code) - 1
    if index < 0 or code > _BLOCKS[index][1]:
        return UNKNOWN
    return _BLOCKS[index][2]


def scripts_in(text: str) -> Counter[str]:
    """Count the letters of a text by their script."""
    if _BEHIND_LATIN.search(text) is None:
        letters = sum(map(str.isalpha, text))
        return Counter({LATIN: letters} if letters else ())
    return Counter(script_of(char) for char in text if char.isalpha())


@lru_cache(maxsize=CACHED_TAGS)
def scripts_of(tag: str) -> frozenset[str]:
    """Return the scripts that a language is written in (zh: Han; ja: kana and Han)."""
    script = Language.get(tag).maximize().script or UNKNOWN
    return _WRITTEN_IN.get(script, frozenset({script}))


def text_weight(text: str) -> float:
    """Return how much a text says, in Latin letters of English; digits count as letters."""
    if _HEAVY.search(text) is None:
        return float(sum(map(str.isalnum, text)))
    return letters_weight(Counter(script_of(char) for char in text if char.isalnum()))


def letters_weight(letters: Mapping[str, int]) -> float:
    """Return how much letters say, counted by their script."""
    return sum(_WEIGHTS.get(script, 1.0) * count for script, count in letters.items())
