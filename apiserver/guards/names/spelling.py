"""Spelling: what two spellings of one name have in common."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Words repeat themselves within a text and between texts.
CACHED_WORDS: Final = 8192
# Letters that an inflected form may lose and gain at its end: Annas / Anna, London / Londres.
MOST_LOST: Final = 2
MOST_GAINED: Final = 3
# It keeps so many letters, and this share of the name.
LEAST_SHARED: Final = 3
SHARED_SHARE: Final = 0.6
# Shorter names have too few consonants to recognise them by.
LEAST_SOUNDED: Final = 4
# So many consonants may have one more; with one more than that, one may differ.
MANY_CONSONANTS: Final = 3

# Letters that Unicode does not decompose.
_LIGATURES: Final = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
# Spellings of one sound in several languages; longer ones first.
_SOUNDS: Final = {
    "tsch": "k",
    "sch": "s",
    "tch": "k",
    "ch": "k",
    "ck": "k",
    "cz": "k",
    "sh": "s",
    "ph": "f",
    "th": "t",
    "gh": "g",
    "qu": "k",
    "ce": "s",
    "ci": "s",
    "cy": "s",
    "x": "ks",
    "c": "k",
    "z": "s",
    "y": "i",
    "j": "i",
    "w": "v",
    "h": "",
}
_SOUND: Final = re.compile("|".join(_SOUNDS))
_VOWELS: Final = re.compile("(?<=.)[aeiou]+")
_DOUBLED: Final = re.compile(r"(.)\1+")


@lru_cache(maxsize=CACHED_WORDS)
def folded(word: str) -> str:
    """Return a word without case, marks and ligatures."""
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in letters if not unicodedata.combining(char)).translate(_LIGATURES)


def is_inflected(name: str, word: str) -> bool:
    """Return whether two folded words differ in their endings only."""
    shared = _shared_letters(name, word)
    return (
        shared >= LEAST_SHARED
        and len(name) - shared <= MOST_LOST
        and len(word) - shared <= MOST_GAINED
        and shared >= SHARED_SHARE * len(name)
    )


def sounds_alike(name: str, word: str) -> bool:
    """Return whether two folded words have the same consonants: Elizabeth / Elisabeth."""
    if min(len(name), len(word)) < LEAST_SOUNDED:
        return False
    first, second = _consonants(name), _consonants(word)
    if first == second:
        return True
    if first[:1] != second[:1] or min(len(first), len(second)) < MANY_CONSONANTS:
        return False
    shared = _shared_letters(first, second)
    rest, other = first[shared:], second[shared:]
    is_one_more = rest[1:] == other or rest == other[1:]
    return is_one_more or (min(len(first), len(second)) > MANY_CONSONANTS and rest[1:] == other[1:])


def _shared_letters(first: str, second: str) -> int:
    """Count the letters that both words begin with."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


@lru_cache(maxsize=CACHED_WORDS)
def _consonants(word: str) -> str:
    spelled = _SOUND.sub(lambda match: _SOUNDS[match.group()], word)
    return _DOUBLED.sub(r"\1", _VOWELS.sub("", spelled))
