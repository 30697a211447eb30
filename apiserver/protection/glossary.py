"""Glossary: finds a client's names and terms in a text.

The longest entry matches: names as written, terms in any case; in scripts with spaces only whole words.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Final, NamedTuple, Self


class PhraseIndex:
    """Phrases in order; a look-up costs a few comparisons, whatever their number."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = sorted(set(phrases))
        self._longest = max(map(len, self._phrases), default=0)
        self._beginnings = {phrase[:2] for phrase in self._phrases}
        # The other phrases with which each phrase begins, the shortest first: no more than it has characters.
        self._prefixes: list[tuple[int, ...]] = []
        open_phrases: list[int] = []
        for index, phrase in enumerate(self._phrases):
            while open_phrases and not phrase.startswith(self._phrases[open_phrases[-1]]):
                open_phrases.pop()
            self._prefixes.append(tuple(open_phrases))
            open_phrases.append(index)

    def places(self, text: str) -> Iterator[int]:
        """Yield the places where a phrase may begin."""
        beginnings = self._beginnings
        for place in range(len(text) if beginnings else 0):
            if text[place : place + 2] in beginnings or text[place] in beginnings:
                yield place

    def phrases_at(self, text: str, place: int) -> Iterator[str]:
        """Yield the phrases that begin at a place, the longest first."""
        # Whatever is between a phrase and the text in order begins with that phrase.
        index = bisect_right(self._phrases, text[place : place + self._longest]) - 1
        if index < 0:
            return
        phrases, prefixes, found = self._phrases, self._prefixes[index], len(self._prefixes[index])
        if text.startswith(phrases[index], place):
            yield phrases[index]
        else:  # of its prefixes the shorter ones may be there
            found = bisect_left(prefixes, 1, key=lambda each: not text.startswith(phrases[each], place))
        for each in reversed(prefixes[:found]):
            yield phrases[each]


# Entries may begin and end anywhere in scripts without spaces, and in Hangul, whose particles are attached to words.
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u30ff\u3130-\u318f\u31f0-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uffdc\U00020000-\U0003ffff]"
)
_PRIVATE_CHARS: Final = re.compile("[\U000f0000-\U0010ffff]")


class GlossaryMatch(NamedTuple):
    """The place of an entry; ``target`` is None for a name."""

    start: int
    end: int
    target: str | None


@dataclass(frozen=True, slots=True)
class _Spellings:
    """Entries by the spelling in which a text must have them."""

    targets: Mapping[str, str | None]
    index: PhraseIndex

    @classmethod
    def of(cls, targets: Mapping[str, str | None]) -> Self:
        return cls(targets, PhraseIndex(targets))

    def longest_at(self, spelled: str, text: str, start: int) -> GlossaryMatch | None:
        """Return the longest entry at a place, or None.

        ``spelled``: the text in this spelling.
        """
        for phrase in self.index.phrases_at(spelled, start):
            end = start + len(phrase)
            if not _is_edge(text, start):
                return None
            if _is_edge(text, end):
                return GlossaryMatch(start, end, self.targets[phrase])
        return None


@dataclass(frozen=True, slots=True)
class GlossaryMatcher:
    """Finds a request's names and terms.

    The work per character is a few comparisons, whatever their number: names that differ from the text only in their
    case are not looked at.
    """

    _written: _Spellings
    _folded: _Spellings

    @classmethod
    def of(cls, names: Sequence[str], terms: Mapping[str, str]) -> Self:
        """Return the matcher; entries with private-use characters never match a parsed text.

        Of entries that a text matches alike, one in the same case is before others, a name before a term.
        """
        written: dict[str, str | None] = {}
        folded: dict[str, str | None] = {}
        for source, target in (*((name, None) for name in names), *terms.items()):
            if source and not _PRIVATE_CHARS.search(source):
                written.setdefault(source, target)
                if target is not None:
                    folded.setdefault(_folded(source), target)
        return cls(_Spellings.of(written), _Spellings.of(folded))

    def find(self, text: str) -> Iterator[GlossaryMatch]:
        """Yield the matches in the text, in order and without overlaps."""
        folded, end = _folded(text) if self._folded.targets else "", 0
        places = merge(self._written.index.places(text), self._folded.index.places(folded))
        for start in places:
            if start < end:
                continue
            written = self._written.longest_at(text, text, start)
            term = self._folded.longest_at(folded, text, start)
            longest = term if term is not None and (written is None or term.end > written.end) else written
            if longest is not None:
                yield longest
                end = longest.end


def _is_edge(text: str, position: int) -> bool:
    """Return whether no word crosses the position."""
    return not (
        0 < position < len(text) and _is_word_character(text[position - 1]) and _is_word_character(text[position])
    )


def _is_word_character(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM" and not _UNSPACED.match(char)


def _folded(text: str) -> str:
    """Return the text in lower case, its positions unchanged."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)
