"""Scripts of letters and languages, the weight of letters, and normal forms."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal

from shared.languages import language_and_script

CACHED_TAGS: Final = 512  # a catalog serves a few dozen languages
# More than the letters of Chinese.
CACHED_LETTERS: Final = 8192
LATIN: Final = "Latn"
UNKNOWN: Final = "Zyyy"

# Of Unicode's Blocks.txt, by ISO 15924 name. No language uses only one of the two kana.
_RANGES: Final = {
    LATIN: "0041-024F 0250-02AF 1E00-1EFF FF21-FF5A",
    "Grek": "0370-03FF 1F00-1FFF",
    "Cyrl": "0400-052F",
    "Armn": "0530-058F",
    "Hebr": "0590-05FF FB1D-FB4F",
    "Arab": "0600-06FF 0750-077F 0870-08FF FB50-FDFF FE70-FEFF",
    "Deva": "0900-097F",
    "Beng": "0980-09FF",
    "Guru": "0A00-0A7F",
    "Gujr": "0A80-0AFF",
    "Orya": "0B00-0B7F",
    "Taml": "0B80-0BFF",
    "Telu": "0C00-0C7F",
    "Knda": "0C80-0CFF",
    "Mlym": "0D00-0D7F",
    "Sinh": "0D80-0DFF",
    "Thai": "0E00-0E7F",
    "Laoo": "0E80-0EFF",
    "Tibt": "0F00-0FFF",
    "Mymr": "1000-109F",
    "Geor": "10A0-10FF",
    "Hang": "1100-11FF 3130-318F AC00-D7AF",
    "Ethi": "1200-139F",
    "Khmr": "1780-17FF",
    "Hani": "3005-3007 3400-9FFF F900-FAFF 20000-3FFFF",
    "Kana": "3040-30FF 31F0-31FF FF66-FF9F",
}
_BLOCKS: Final = sorted(
    (int(first, 16), int(last, 16), script)
    for script, ranges in _RANGES.items()
    for first, _, last in (block.partition("-") for block in ranges.split())
)
_FIRSTS: Final = tuple(first for first, _, _ in _BLOCKS)
# CLDR's names for combinations of scripts.
_WRITTEN_IN: Final = {
    "Jpan": frozenset({"Kana", "Hani"}),
    "Kore": frozenset({"Hang", "Hani"}),
    "Hans": frozenset({"Hani"}),
    "Hant": frozenset({"Hani"}),
}
# English letters that say as much as one letter (docs/decisions/0009-guards.md); other scripts: 1.
_WEIGHTS: Final = {"Hani": 3.1, "Kana": 1.5, "Hang": 2.2}
# Nearly all texts have none of these.
_HEAVY: Final = re.compile(
    "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last, script in _BLOCKS if script in _WEIGHTS) + "]"
)
# Beyond Latin's first blocks: nearly all texts have none.
_BEHIND_LATIN: Final = re.compile(f"[^\0-{chr(_BLOCKS[0][1])}\\W]")
# Unicode sorts each run of marks by insertion, in square time: 16,000 take 0.25 s, in which no other thread runs. Standard
# Annex 15 lets an invisible joiner follow each 30 (stream-safe text, section 13). The two letters become marks.
_MARKS: Final = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){30}")
_JOINER: Final = "\u034f"


@lru_cache(maxsize=CACHED_LETTERS)
def script_of(char: str) -> str:
    """Return a letter's script, or ``UNKNOWN`` if it is not listed."""
    index = bisect_right(_FIRSTS, ord(char)) - 1
    return UNKNOWN if index < 0 or ord(char) > _BLOCKS[index][1] else _BLOCKS[index][2]


def scripts_in(text: str) -> Counter[str]:
    """Count a text's letters by script."""
    if _BEHIND_LATIN.search(text) is None:
        letters = sum(map(str.isalpha, text))
        return Counter({LATIN: letters} if letters else ())
    return _scripts_among(filter(str.isalpha, text))


@lru_cache(maxsize=CACHED_TAGS)
def scripts_of(tag: str) -> frozenset[str]:
    """Return a language's scripts (zh: Han; ja: kana and Han)."""
    script = language_and_script(tag)[1] or UNKNOWN
    return _WRITTEN_IN.get(script, frozenset({script}))


def text_weight(text: str) -> float:
    """Return a text's weight in English letters; digits count as letters."""
    if _HEAVY.search(text) is None:
        return float(sum(map(str.isalnum, text)))
    return letters_weight(_scripts_among(filter(str.isalnum, text)))


def _scripts_among(letters: Iterable[str]) -> Counter[str]:
    scripts: Counter[str] = Counter()
    for letter, count in Counter(letters).items():
        scripts[script_of(letter)] += count
    return scripts


def letters_weight(letters: Mapping[str, int]) -> float:
    """Return the weight of letters, counted by script."""
    return sum(_WEIGHTS.get(script, 1.0) * count for script, count in letters.items())


def normalized(form: Literal["NFKC", "NFKD"], text: str) -> str:
    """Return a text's normal form, with long runs of marks divided."""
    return unicodedata.normalize(form, _MARKS.sub(rf"\g<0>{_JOINER}", text))
