"""Name guard: finds names and codes that an output lacks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

from apiserver.guards.names import word_lists
from apiserver.guards.names.candidates import MAX_CHARS, Candidate, CandidateKind, candidates_in
from apiserver.guards.names.spelling import (
    Transliterated,
    folded,
    has_other_marks,
    inflected_forms,
    may_be_among,
    sounds_alike,
    sounds_of,
    transliterated_in,
)
from apiserver.guards.names.word_lists import place_names_of, translated_words
from apiserver.guards.scripts import LATIN, normalized, scripts_of
from shared.languages import LanguagePair, language_of

LATIN_END: Final = "\u0250"  # behind Latin's marked letters
# Fewer common letters are chance.
COMMON: Final = 4
_CAPITAL: Final = re.compile(rf"(?<![^\W\d_])[^\W\d_a-z][^\W\d_]{{{COMMON - 1},39}}(?![^\W\d_])")
# Found inside words: Bostonreise.
LEAST_INSIDE: Final = 5
_WORD: Final = re.compile(r"[^\W\d_]+")
# Parts of a code, what may stand between them, and no more but a plural's s.
_PART: Final = re.compile(r"[a-z]+|\d+")
_BETWEEN: Final = re.compile(r"[\W_]{0,3}")
_CODE_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_MORE_OF_CODE: Final = re.compile("s?[a-rt-z0-9]|ss")


def load_names(pairs: Iterable[LanguagePair]) -> None:
    """Load the pairs' data, so that no first text waits."""
    for pair in pairs:
        if language_of(pair.source) in word_lists.LISTED:
            word_lists.may_be_ordinary("", language_of(pair.source))
            place_names_of(pair.source)
            place_names_of(pair.target)


def lost_names(source: str, output: str, pair: LanguagePair) -> tuple[str, ...]:
    """Return the names and codes that the output lacks, each once."""
    if len(output) > MAX_CHARS:
        return ()
    lost: list[str] = []
    if candidates := [each for each in candidates_in(source, pair.source) if not _stands_in(each.text, output)]:
        names = OutputNames(output, pair)
        lost = [candidate.text for candidate in candidates if not names.has(candidate)]
    if not lost and language_of(pair.source) in word_lists.CAPITALIZED_NOUNS:
        lost = list(mangled_names(source, output, pair))
    return tuple(dict.fromkeys(lost))


def _stands_in(name: str, output: str) -> bool:
    """Return fast whether an output has a name as a word."""
    start = output.find(name)
    if start < 0:
        return False
    before, behind = output[start - 1 : start], output[start + len(name) : start + len(name) + 1]
    return not _is_latin(before) and not _is_latin(behind)


def _is_latin(char: str) -> bool:
    """Return whether it makes a longer word; other scripts' letters are particles."""
    return char < LATIN_END and char.isalnum()


def mangled_names(source: str, output: str, pair: LanguagePair) -> Iterator[str]:
    """Yield the names that look like compounds, changed at the end: Hellwerk."""
    words, others = _capitals_in(source), _capitals_in(output)
    beginnings = {word[:COMMON] for word in others}
    lost = {word: written for word, written in words.items() if word not in others and word[:COMMON] in beginnings}
    if not lost:
        return
    names = {folded(each.text) for each in candidates_in(output, pair.target) if each.kind is CandidateKind.NAME}
    ours = OutputNames(source, LanguagePair(pair.target, pair.source))
    invented = [name for name in names if name in others and not ours.has_word(others[name])]
    yield from (written for word, written in lost.items() if any(_is_alike(word, name) for name in invented))


def _capitals_in(text: str) -> dict[str, str]:
    return {folded(word): word for word in _CAPITAL.findall(text)}


def _is_alike(word: str, other: str) -> bool:
    """Return whether half of the shorter word is common."""
    size = max(COMMON, (min(len(word), len(other)) + 1) // 2)
    return word[:size] == other[:size]


class OutputNames:
    """Words of one output, in which names are looked up."""

    def __init__(self, text: str, pair: LanguagePair) -> None:
        self._text = text
        self._pair = pair
        words: dict[str, None] = dict.fromkeys(_WORD.findall(text))
        self._words: defaultdict[str, list[str]] = defaultdict(list)
        for word in words:
            self._words[folded(word)].append(word)
        language = language_of(pair.target)
        # Other languages may join words too.
        self._joins = language in word_lists.CAPITALIZED_NOUNS or language not in word_lists.LISTED
        # "Sake" is a German noun; other scripts write "Web" for web.
        is_noun = language_of(pair.source) in word_lists.CAPITALIZED_NOUNS
        self._keeps_capitals = LATIN in scripts_of(pair.source) and not is_noun
        self._acronyms = {"".join(sorted(word)) for word in words if word.isupper()}

    def has(self, candidate: Candidate) -> bool:
        """Return whether the output has the candidate, or nobody can tell."""
        if candidate.kind is CandidateKind.CODE or "-" in candidate.text:
            return self._has_code(candidate.text)
        particles, _, last = candidate.text.rpartition(" ")
        if not particles:
            return self.has_word(last, candidate.kind)
        # A kept name keeps its particles: "der Linden".
        return self._has_code(candidate.text) if folded(last) in self._words else self.has_word(last, candidate.kind)

    def _has_code(self, code: str) -> bool:
        """Look for the letters and digits, with any signs between."""
        parts = _parts_of(_normalized(code))
        if not parts:  # of another script: nobody can tell
            return True
        letters, ends = "".join(parts), set(accumulate(map(len, parts)))
        found = self._all_parts.find(letters)
        while found >= 0:
            if self._is_code_at(self._places[found : found + len(letters)], ends):
                return True
            found = self._all_parts.find(letters, found + 1)
        return False

    def _is_code_at(self, places: Sequence[int], ends: Collection[int]) -> bool:
        text = self._normalized
        if text[places[0] - 1 : places[0]] in _CODE_CHARS or _MORE_OF_CODE.match(text, places[-1] + 1):
            return False
        return all(
            place == before + 1 or (number in ends and _BETWEEN.fullmatch(text, before + 1, place) is not None)
            for number, (before, place) in enumerate(pairwise(places), 1)
        )

    def has_word(self, word: str, kind: CandidateKind = CandidateKind.NAME) -> bool:
        """Return whether the output has a word in any form."""
        name = folded(word)
        if self._has_as(word, [name]) or self._has_as(word, self._longer_words(name)):
            return True
        if kind is CandidateKind.ACRONYM and "".join(sorted(word.removesuffix("s"))) in self._acronyms:
            return True
        scripts = scripts_of(self._pair.target)
        if LATIN not in scripts and LATIN in scripts_of(self._pair.source):
            return kind is CandidateKind.ACRONYM or self._has_transliterated(name)
        return self._has_form_of(word, name)

    def _has_as(self, written: str, words: Iterable[str]) -> bool:
        """Look for a folded word with its marks and capital."""
        needs_capital = self._keeps_capitals and written[0].isupper() and not written.isupper()
        forms = (form for word in words for form in self._words.get(word, ()))
        return any(not has_other_marks(written, form) and not (needs_capital and form[0].islower()) for form in forms)

    def _longer_words(self, name: str) -> Iterator[str]:
        if self._joins and len(name) >= LEAST_INSIDE and name in self._all_words:
            yield from (word for word in self._words if name in word)

    def _has_form_of(self, written: str, name: str) -> bool:
        capital = (word for word in inflected_forms(name, self._pair) if self._is_capital(word))
        if self._has_as(written, capital) or self._has_as(written, self._words_like(name)):
            return True
        others = translated_words(name, self._pair)
        return any(form in self._words for other in others for form in (other, *inflected_forms(other, self._pair)))

    def _words_like(self, name: str) -> Iterator[str]:
        for sound in sounds_of(name):
            yield from (word for word in self._by_sound.get(sound, ()) if sounds_alike(name, word))

    def _is_capital(self, word: str) -> bool:
        return any(not form[0].islower() for form in self._words.get(word, ()))

    def _has_transliterated(self, name: str) -> bool:
        if any(other in self._text for other in (name, *translated_words(name, self._pair))):
            return True
        return may_be_among(name, self._transliterated)

    @cached_property
    def _transliterated(self) -> Transliterated | None:
        return transliterated_in(self._text, scripts_of(self._pair.target))

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
    def _normalized(self) -> str:
        return _normalized(self._text)

    @cached_property
    def _places(self) -> Sequence[int]:
        return [place for part in _PART.finditer(self._normalized) for place in range(*part.span())]

    @cached_property
    def _all_parts(self) -> str:
        return "".join(_parts_of(self._normalized))


def _normalized(text: str) -> str:
    return folded(normalized("NFKC", text))


def _parts_of(text: str) -> list[str]:
    return _PART.findall(text)
