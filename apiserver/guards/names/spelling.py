"""Spelling: what two spellings of one name have in common.

Latin spellings are compared by their sound, kana and Hangul by their consonants.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from apiserver.guards.scripts import normalized
from shared.languages import LanguagePair, language_of


def _pairs(table: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in table.split(" "))


# Of forms: Annas / Anna. A vowel alone makes another name: Simon / Simone.
_ENDINGS: Final = frozenset(["s", "es", "n", "en", "ns", "er", "ers", "ern", "ner", "ners"])
# Other languages may have any.
_ENDINGS_OF: Final[Mapping[str, frozenset[str]]] = dict.fromkeys(["en", "fr", "es"], frozenset(["s", "es"]))
# A form keeps so many letters, and this share.
LEAST_SHARED: Final = 3
SHARED_SHARE: Final = 0.6
# Shorter names are too much like others.
LEAST_SOUNDED: Final = 4
MOST_SOUNDED: Final = 64

_LIGATURES: Final = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
# Of one sound in several languages; longer ones first.
_SOUNDS: Final = _pairs(
    "tsch:k sch:s tch:k ch:k ck:k cz:k sh:s ph:f th:t gh:g qu:k ce:s ci:s cy:s x:ks c:k za:sa y:i j:i w:v h:"
)
_SOUND: Final = re.compile("|".join(_SOUNDS))
# Mary, Maria, Marias and Marie, but not Maria and Marie.
_AFTER_I: Final = re.compile("(?<=..i)[ae]s?$")
_ENDING_ER: Final = re.compile("(?<=[^aeiou])re$")
_MARKED: Final = re.compile("[^\x00-\x7f]")
_DOUBLED: Final = re.compile(r"(.)\1+")
CONSONANTS_PER_MISTAKE: Final = 3  # of so many, one may differ: Japanese and Korean leave some out
# Of more nobody can tell: a comparison takes a microsecond for four pairs of consonants.
MOST_WORDS: Final = 64
MOST_CONSONANTS: Final = 12
MOST_LETTERS: Final = 20  # of a word

_ROWS: Final = _pairs(
    ":アイウエオ k:カキクケコ g:ガギグゲゴ s:サシスセソ z:ザジズゼゾ t:タチツテト d:ダヂヅデド n:ナニヌネノ h:ハヒフヘホ b:バビブベボ p:パピプペポ m:マミムメモ r:ラリルレロ"
)
_KANA: Final = {
    **{kana: consonant + vowel for consonant, row in _ROWS.items() for kana, vowel in zip(row, "aiueo", strict=True)},
    **_pairs("ヤ:ya ユ:yu ヨ:yo ワ:wa ヲ:o ン:n ヴ:vu チ:chi ジ:ji ヂ:ji シ:shi ツ:tsu フ:fu"),
}
# A small vowel replaces the one before it: ティ is ti.
_SMALL: Final = {"ァ": "a", "ィ": "i", "ゥ": "u", "ェ": "e", "ォ": "o", "ャ": "a", "ュ": "u", "ョ": "o"}
_KATAKANA: Final = re.compile("[ァ-ヺー]{2,}")
_HANGUL: Final = re.compile("[가-힣]+")
_FIRST_HANGUL: Final = 0xAC00
_INITIALS: Final = ("g", "k", "n", "d", "t", "r", "m", "b", "p", "s", "s", "", "j", "j", "ch", "k", "t", "p", "h")
_VOWELS: Final = 21
_FINALS: Final = (
    *("", "g", "k", "gs", "n", "nj", "nh", "d", "l", "lg", "lm", "lb", "ls", "lt", "lp", "lh", "m", "b", "bs"),
    *("s", "s", "ng", "j", "ch", "k", "t", "p", "h"),
)
# Japanese names are written in kanji, which nobody reads without a dictionary.
_ROMAJI: Final = re.compile("(?:(?:[kgsztdnhbpmrfjwy]|sh|ch|ts|[kgnhbpmr]y)?[aiueo]|n)+")

# Japanese and Korean do not tell these apart.
_CONSONANTS: Final = {
    **_pairs("tsch:s sch:s tch:s ng:n gn:n ch:s sh:s ph:p th:s ts:s gh:k ck:k wr:r kn:n ce:s ci:s ge:s gi:s ju:s tu:s"),
    **dict(zip("bpvfckgqxszjtdmnlr", "ppppkkkkksssttmnrr", strict=True)),
}
_CONSONANT: Final = re.compile("|".join(_CONSONANTS) + "|.", re.DOTALL)


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
    """Return whether both have marked letters, but others: Dąbrowska / Dăbrowska."""
    marked = _MARKED.findall(name.lower())
    return bool(marked) and marked != (others := _MARKED.findall(word.lower())) and bool(others)


class Transliterated(NamedTuple):
    """The consonants of a text's words in katakana or Hangul."""

    consonants: Collection[str]
    is_japanese: bool


def transliterated_in(text: str, scripts: Collection[str]) -> Transliterated | None:
    """Return the transliterated words; None if too many, or of other scripts."""
    is_japanese = "Kana" in scripts
    words = set[str]((_KATAKANA if is_japanese else _HANGUL).findall(text))
    if len(words) > MOST_WORDS or not (is_japanese or "Hang" in scripts):
        return None
    latin = _from_kana if is_japanese else _from_hangul
    return Transliterated({_consonants(latin(word)) for word in words}, is_japanese)


def may_be_among(name: str, words: Transliterated | None) -> bool:
    """Return whether a text with such words may have the folded name."""
    if words is None or (words.is_japanese and _ROMAJI.fullmatch(name)):
        return True
    consonants = _consonants(name)
    return any(_are_alike(consonants, word) for word in words.consonants)


def _from_kana(word: str) -> str:
    letters = ""
    for char in word[:MOST_LETTERS]:
        small = _SMALL.get(char)
        letters = letters + _KANA.get(char, "") if small is None else letters[:-1] + small
    return letters


def _from_hangul(word: str) -> str:
    letters: list[str] = []
    for char in word[:MOST_LETTERS]:
        syllable, final = divmod(ord(char) - _FIRST_HANGUL, len(_FINALS))
        letters += [_INITIALS[syllable // _VOWELS], "a", _FINALS[final]]
    return "".join(letters)


def _consonants(word: str) -> str:
    return _DOUBLED.sub(r"\1", _CONSONANT.sub(lambda match: _CONSONANTS.get(match.group(), ""), word))


def _are_alike(name: str, word: str) -> bool:
    """Compare by Levenshtein's distance to the nearest part of the word (Sellers)."""
    if name in word or len(name) > MOST_CONSONANTS:
        return True
    most = len(name) // CONSONANTS_PER_MISTAKE
    if not most or len(set(name).difference(word)) > most:
        return False
    row = [0] * (len(word) + 1)
    for number, one in enumerate(name, 1):
        before, row = row, [number]
        for index, other in enumerate(word):
            row.append(min(before[index] + (one != other), before[index + 1] + 1, row[-1] + 1))
        if min(row) > most:
            return False
    return True
