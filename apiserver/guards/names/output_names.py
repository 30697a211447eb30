"""Output names: finds a name in an output, in any form."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from typing import Final

from apiserver.guards.names import place_names
from apiserver.guards.names.candidates import Candidate, CandidateKind
from apiserver.guards.names.spelling import folded, has_other_marks, is_inflected, sounds_alike
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
        self._words: defaultdict[str, list[str]] = defaultdict(list)
        for word in words:
            self._words[folded(word)].append(word)
        self._acronyms = [sorted(word) for word in words if word.isupper()]

    def has(self, candidate: Candidate) -> bool:
        """Return whether the output has the candidate, or nobody can tell."""
        name = folded(candidate.text)
        if candidate.kind is CandidateKind.CODE:
            return _letters_and_digits(candidate.text) in self._letters_and_digits
        if self._has_as(candidate.text, lambda word: word == name):
            return True
        if len(name) >= LEAST_INSIDE and self._has_as(candidate.text, lambda word: name in word):
            return True
        if candidate.kind is CandidateKind.ACRONYM and sorted(candidate.text.removesuffix("s")) in self._acronyms:
            return True
        scripts = scripts_of(self._pair.target)
        if LATIN not in scripts and LATIN in scripts_of(self._pair.source):
            return candidate.kind is CandidateKind.ACRONYM or self._has_transliterated(name, scripts)
        return self._has_form_of(candidate.text, name)

    def _has_as(self, written: str, is_same: Callable[[str], bool]) -> bool:
        """Return whether a word is the same, and not with other marks."""
        same = (form for word, forms in self._words.items() if is_same(word) for form in forms)
        return any(not has_other_marks(written, form) for form in same)

    def _has_form_of(self, written: str, name: str) -> bool:
        if self._has_as(
            written, lambda word: self._is_capital(word) and (is_inflected(name, word) or sounds_alike(name, word))
        ):
            return True
        others = place_names.translated_words(name, self._pair)
        return any(other == word or is_inflected(other, word) for other in others for word in self._words)

    def _is_capital(self, word: str) -> bool:
        return not all(form[0].islower() for form in self._words[word])

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
