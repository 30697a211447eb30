"""Word lists: words that a translation need not keep.

``words/TAG.txt`` has a language's ordinary words in lower case; those in capitals are names although the same letters
are an ordinary word (Bill). ``python -m benchmarks.quality.alarms.name_words`` writes them (docs/decisions/0035-names.md); sources and licence:
``words/ATTRIBUTION.md``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Final

# A stem has at least so many letters.
LEAST_STEM: Final = 4
# Endings that make another form of a word, in the languages with lists.
_ENDINGS: Final = (
    "s es ed d ing er ers ly r e en n em et te ten t st est in nen x nt ent ons ez é ée és ées a as o os an mos lo la le "
    "los las les me se"
)
# The first part of a compound has at least so many letters.
LEAST_FIRST_PART: Final = 2
_ALL_ENDINGS: Final = tuple(_ENDINGS.split())
_FOLDER: Final = Path(__file__).with_name("words")
LISTED: Final = frozenset(file.stem for file in _FOLDER.glob("*.txt"))
# Languages that join nouns and write them with a capital: a capital says nothing.
CAPITALIZED_NOUNS: Final = frozenset({"de"})
_NO_WORDS: Final[frozenset[str]] = frozenset()


def may_be_ordinary(word: str, language: str) -> bool:
    """Return whether a word may be ordinary where a capital says nothing.

    So are forms of listed words and, in German, compounds that end with one.
    """
    return is_ordinary_among(word.lower(), _words(language), joins=language in CAPITALIZED_NOUNS)


def is_ordinary_inside(word: str, language: str) -> bool:
    """Return whether a word with a capital inside a sentence is ordinary."""
    words = _words(language)
    return word not in words and word.lower() in words


def is_ordinary_among(word: str, words: Collection[str], *, joins: bool) -> bool:
    """Return whether a list has the word or its stem.

    In a language that ``joins`` words, their last part is enough.
    """
    starts = range(LEAST_FIRST_PART, len(word) - LEAST_STEM + 1) if joins else ()
    return _is_form(word, words) or any(
        word[start:] in words if len(word) - start == LEAST_STEM else _is_form(word[start:], words) for start in starts
    )


def _is_form(word: str, words: Collection[str]) -> bool:
    if word in words:
        return True
    if len(word) < LEAST_STEM:
        return False
    stems = (word[: -len(ending)] for ending in _ALL_ENDINGS if word.endswith(ending))
    return any(len(stem) >= LEAST_STEM and stem in words for stem in stems) or f"{word}n" in words


@lru_cache(maxsize=len(LISTED))
def _words(language: str) -> frozenset[str]:
    if language not in LISTED:
        return _NO_WORDS
    return frozenset((_FOLDER / f"{language}.txt").read_text(encoding="utf-8").split("\n"))
