"""Spelling: what two spellings of one name have in common."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from apiserver.guards.normal_form import normalized
from shared.languages import LanguagePair, language_of

# Endings of a form: Annas / Anna, Anna / Annas. A vowel alone makes another name: Simon / Simone.
_ENDINGS: Final = frozenset(["s", "es", "n", "en", "ns", "er", "ers", "ern", "ner", "ners"])
# Of these languages; others may have any.
_ENDINGS_OF: Final[Mapping[str, frozenset[str]]] = dict.fromkeys(["en", "fr", "es"], frozenset(["s", "es"]))
# It keeps so many letters, and this share of the name.
LEAST_SHARED: Final = 3
SHARED_SHARE: Final = 0.6
# Shorter names are too much like others, and longer words are noise.
LEAST_SOUNDED: Final = 4
MOST_SOUNDED: Final = 64

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
    "za": "sa",
    "y": "i",
    "j": "i",
    "w": "v",
    "h": "",
}
_SOUND: Final = re.compile("|".join(_SOUNDS))
# Mary, Maria, Marias and Marie, but not Maria and Marie.
_AFTER_I: Final = re.compile("(?<=..i)[ae]s?$")
_ENDING_ER: Final = re.compile("(?<=[^aeiou])re$")
_MARKED: Final = re.compile("[^\x00-\x7f]")
_DOUBLED: Final = re.compile(r"(.)\1+")


def folded(word: str) -> str:
    """Return a word without case, marks and ligatures."""
    if word.isascii():
        return word.lower()
    letters = normalized("NFKD", word.casefold())
    return "".join(char for char in letters if not unicodedata.combining(char)).translate(_LIGATURES)


def inflected_forms(name: str, pair: LanguagePair) -> Iterator[str]:
    """Yield a folded name's forms: with a target's ending, without a source's."""
    if len(name) >= LEAST_SHARED:
        yield from (name + ending for ending in _ENDINGS_OF.get(language_of(pair.target), _ENDINGS))
    least = max(LEAST_SHARED, SHARED_SHARE * len(name))
    for ending in _ENDINGS_OF.get(language_of(pair.source), _ENDINGS):
        if name.endswith(ending) and len(name) - len(ending) >= least:
            yield name.removesuffix(ending)


def sounds_of(word: str) -> tuple[str, ...]:
    """Return a folded word's sound, and that without Maria's ending."""
    if not LEAST_SOUNDED <= len(word) <= MOST_SOUNDED:
        return ()
    spelled = _DOUBLED.sub(r"\1", _SOUND.sub(lambda match: _SOUNDS[match.group()], word))
    sound = _ENDING_ER.sub("er", spelled)
    return sound, _AFTER_I.sub("", sound)


def sounds_alike(name: str, word: str) -> bool:
    """Return whether two folded words sound alike: Elizabeth / Elisabeth, Mary / Maria."""
    one, other = sounds_of(name), sounds_of(word)
    return bool(one and other) and (one[0] in other or other[0] in one)


def has_other_marks(name: str, word: str) -> bool:
    """Return whether both words have marked letters, but others: Dąbrowska / Dăbrowska."""
    marked = _MARKED.findall(name.lower())
    return bool(marked) and marked != (others := _MARKED.findall(word.lower())) and bool(others)
