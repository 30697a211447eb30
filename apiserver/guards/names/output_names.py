"""Output names: finds a name in an output, in any form."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from apiserver.guards.names import place_names
from apiserver.guards.names.candidates import Candidate, CandidateKind
from apiserver.guards.names.spelling import folded, has_other_marks, inflected_forms, sounds_alike, sounds_of
from apiserver.guards.names.transliteration import is_in_hangul, is_in_katakana
from apiserver.guards.scripts import LATIN, scripts_of
from shared.languages import LanguagePair

# Longer names are found inside words: Bostonreise.
LEAST_INSIDE: Final = 5
_WORD: Final = re.compile(r"[^\W\d_]+")
_NO_LETTER: Final = re.compile(r"[\W_]+")


class OutputNames:
    """Words of one output, in which names are looked up."""

    def __init__(self, text: str, pair: LanguagePair) -> None:
        self._text = text
        self._pair = pair
        words: dict[str, None] = dict.fromkeys(_WORD.findall(text))
        self._words: defaultdict[str, list[str]] = defaultdict(list)
        for word in words:
            self._words[folded(word)].append(word)
        self._acronyms = {"".join(sorted(word)) for word in words if word.isupper()}

    def has(self, candidate: Candidate) -> bool:
        """Return whether the output has the candidate, or nobody can tell."""
        name = folded(candidate.text)
        if candidate.kind is CandidateKind.CODE:
            return _letters_and_digits(candidate.text) in self._letters_and_digits
        if self._has_as(candidate.text, [name]) or self._has_as(candidate.text, self._longer_words(name)):
            return True
        letters = "".join(sorted(candidate.text.removesuffix("s")))
        if candidate.kind is CandidateKind.ACRONYM and letters in self._acronyms:
            return True
        scripts = scripts_of(self._pair.target)
        if LATIN not in scripts and LATIN in scripts_of(self._pair.source):
            return candidate.kind is CandidateKind.ACRONYM or self._has_transliterated(name, scripts)
        return self._has_form_of(candidate.text, name)

    def _has_as(self, written: str, words: Iterable[str]) -> bool:
        """Return whether the output has a folded word, without other marks."""
        forms = (form for word in words for form in self._words.get(word, ()))
        return any(not has_other_marks(written, form) for form in forms)

    def _longer_words(self, name: str) -> Iterator[str]:
        if len(name) >= LEAST_INSIDE and name in self._all_words:
            yield from (word for word in self._words if name in word)

    def _has_form_of(self, written: str, name: str) -> bool:
        capital = (word for word in inflected_forms(name) if self._is_capital(word))
        if self._has_as(written, capital) or self._has_as(written, self._words_like(name)):
            return True
        others = place_names.translated_words(name, self._pair)
        return any(form in self._words for other in others for form in (other, *inflected_forms(other)))

    def _words_like(self, name: str) -> Iterator[str]:
        """Yield the words with a capital that sound like the name."""
        for sound in sounds_of(name):
            yield from (word for word in self._by_sound.get(sound, ()) if sounds_alike(name, word))

    def _is_capital(self, word: str) -> bool:
        return any(not form[0].islower() for form in self._words.get(word, ()))

    def _has_transliterated(self, name: str, scripts: frozenset[str]) -> bool:
        if any(other in self._text for other in (name, *place_names.translated_words(name, self._pair))):
            return True
        if "Kana" in scripts:
            return is_in_katakana(name, self._text)
        return "Hang" not in scripts or is_in_hangul(name, self._text)

    @cached_property
    def _all_words(self) -> str:
        return " ".join(self._words)

    @cached_property
    def _by_sound(self) -> Mapping[str, Sequence[str]]:
        words: defaultdict[str, list[str]] = defaultdict(list)
        for word in filter(self._is_capital, self._words):
            for sound in sounds_of(word):
                words[sound].append(word)
        return words

    @cached_property
    def _letters_and_digits(self) -> str:
        return _letters_and_digits(self._text)


def _letters_and_digits(text: str) -> str:
    """Return a text without signs, spaces, case and width."""
    return _NO_LETTER.sub("", unicodedata.normalize("NFKC", text)).casefold()
