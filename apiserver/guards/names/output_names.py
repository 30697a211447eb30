"""Output names: finds a name in an output, in any form."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property
from typing import Final

from apiserver.guards.names import place_names
from apiserver.guards.names.candidates import Candidate, CandidateKind
from apiserver.guards.names.spelling import folded, is_inflected, sounds_alike
from apiserver.guards.names.transliteration import is_in_hangul, is_in_katakana
from apiserver.guards.scripts import LATIN, scripts_of
from shared.languages import LanguagePair

# Longer names are found inside words: Bostonreise.
LEAST_INSIDE: Final = 5
_WORD: Final = re.compile(r"[^\W\d_]+")
_NO_LETTER: Final = re.compile(r"[\W_]+")


class OutputNames:
    """The words of one output."""

    def __init__(self, text: str, pair: LanguagePair) -> None:
        self._text = text
        self._pair = pair
        words: list[str] = _WORD.findall(text)
        self._words = {folded(word) for word in words}
        self._capitals = {folded(word) for word in words if not word[0].islower()}
        self._acronyms = [sorted(word) for word in words if word.isupper()]

    def has(self, candidate: Candidate) -> bool:
        """Return whether the output has the candidate, or nobody can tell."""
        name = folded(candidate.text)
        if candidate.kind is CandidateKind.CODE:
            return _letters_and_digits(candidate.text) in self._letters_and_digits
        if name in self._words or (len(name) >= LEAST_INSIDE and any(name in word for word in self._words)):
            return True
        if candidate.kind is CandidateKind.ACRONYM and sorted(candidate.text.removesuffix("s")) in self._acronyms:
            return True
        scripts = scripts_of(self._pair.target)
        if LATIN not in scripts and LATIN in scripts_of(self._pair.source):
            return candidate.kind is CandidateKind.ACRONYM or self._has_transliterated(name, scripts)
        return self._has_form_of(name)

    def _has_form_of(self, name: str) -> bool:
        if any(is_inflected(name, word) or sounds_alike(name, word) for word in self._capitals):
            return True
        others = place_names.translated_words(name, self._pair)
        return any(other == word or is_inflected(other, word) for other in others for word in self._words)

    def _has_transliterated(self, name: str, scripts: frozenset[str]) -> bool:
        if any(other in self._text for other in (name, *place_names.translated_words(name, self._pair))):
            return True
        if "Kana" in scripts:
            return is_in_katakana(name, self._text)
        return "Hang" not in scripts or is_in_hangul(name, self._text)

    @cached_property
    def _letters_and_digits(self) -> str:
        return _letters_and_digits(self._text)


def _letters_and_digits(text: str) -> str:
    """Return a text without signs, spaces, case and width."""
    return _NO_LETTER.sub("", unicodedata.normalize("NFKC", text)).casefold()
