"""Transliteration: compares a Latin name with kana and Hangul by their consonants."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

# One consonant in so many may differ: Japanese and Korean leave some out.
CONSONANTS_PER_MISTAKE: Final = 3
# Of more words in a text, or of longer names, nobody can tell: a comparison takes a microsecond for four pairs of consonants.
MOST_WORDS: Final = 64
MOST_CONSONANTS: Final = 12
# More letters of a word are not compared.
MOST_LETTERS: Final = 20

_ROWS: Final = {
    "": "アイウエオ",
    "k": "カキクケコ",
    "g": "ガギグゲゴ",
    "s": "サシスセソ",
    "z": "ザジズゼゾ",
    "t": "タチツテト",
    "d": "ダヂヅデド",
    "n": "ナニヌネノ",
    "h": "ハヒフヘホ",
    "b": "バビブベボ",
    "p": "パピプペポ",
    "m": "マミムメモ",
    "r": "ラリルレロ",
}
_KANA: Final = {
    **{kana: consonant + vowel for consonant, row in _ROWS.items() for kana, vowel in zip(row, "aiueo", strict=True)},
    "ヤ": "ya",
    "ユ": "yu",
    "ヨ": "yo",
    "ワ": "wa",
    "ヲ": "o",
    "ン": "n",
    "ヴ": "vu",
    "チ": "chi",
    "ジ": "ji",
    "ヂ": "ji",
    "シ": "shi",
    "ツ": "tsu",
    "フ": "fu",
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
# Syllables of Japanese: such names are written in kanji, which nobody reads without a dictionary.
_ROMAJI: Final = re.compile("(?:(?:[kgsztdnhbpmrfjwy]|sh|ch|ts|[kgnhbpmr]y)?[aiueo]|n)+")

# Consonants that Japanese and Korean do not tell apart.
_SOUNDS: Final = {
    "tsch": "s",
    "sch": "s",
    "tch": "s",
    "ng": "n",
    "gn": "n",
    "ch": "s",
    "sh": "s",
    "ph": "p",
    "th": "s",
    "ts": "s",
    "gh": "k",
    "ck": "k",
    "wr": "r",
    "kn": "n",
    "ce": "s",
    "ci": "s",
    "ge": "s",
    "gi": "s",
    "ju": "s",
    "tu": "s",
    **dict(zip("bpvfckgqxszjtdmnlr", "ppppkkkkksssttmnrr", strict=True)),
}
_SOUND: Final = re.compile("|".join(_SOUNDS) + "|.", re.DOTALL)
_DOUBLED: Final = re.compile(r"(.)\1+")


def katakana_in(text: str) -> Collection[str] | None:
    """Return the consonants of words in katakana; None of too many."""
    return _consonants_in(text, _KATAKANA, _from_kana)


def hangul_in(text: str) -> Collection[str] | None:
    """Return the consonants of words in Hangul; None of too many."""
    return _consonants_in(text, _HANGUL, _from_hangul)


def is_in_katakana(name: str, words: Collection[str] | None) -> bool:
    """Return whether Japanese with such words may have the folded name."""
    return _ROMAJI.fullmatch(name) is not None or _is_among(name, words)


def is_in_hangul(name: str, words: Collection[str] | None) -> bool:
    """Return whether Korean with such words may have the folded name."""
    return _is_among(name, words)


def _is_among(name: str, words: Collection[str] | None) -> bool:
    consonants = _consonants(name)
    return words is None or any(_are_alike(consonants, word) for word in words)


def _consonants_in(text: str, pattern: re.Pattern[str], latin: Callable[[str], str]) -> Collection[str] | None:
    words = set[str](pattern.findall(text))
    return None if len(words) > MOST_WORDS else {_consonants(latin(word)) for word in words}


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
    return _DOUBLED.sub(r"\1", _SOUND.sub(lambda match: _SOUNDS.get(match.group(), ""), word))


def _are_alike(name: str, word: str) -> bool:
    """Return whether a part of the word has the name's consonants, nearly.

    Levenshtein's distance to the nearest part (Sellers).
    """
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
