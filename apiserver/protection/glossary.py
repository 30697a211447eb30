"""Glossary: finds a client's names and terms in a text.

The longest entry matches: names as written, terms in any case; in scripts with spaces only whole words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from apiserver.protection.phrase_index import PhraseIndex

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


class _Entry(NamedTuple):
    """A name (no target) or term."""

    written: str
    target: str | None


@dataclass(frozen=True, slots=True)
class GlossaryMatcher:
    """Finds a request's names and terms.

    The work per character is bounded by the number of entries that begin with one another.
    """

    _entries: Mapping[str, Sequence[_Entry]]
    _index: PhraseIndex

    @classmethod
    def of(cls, names: Sequence[str], terms: Mapping[str, str]) -> Self:
        """Return the matcher; entries with private-use characters never match a parsed text."""
        entries = [_Entry(name, None) for name in names]
        entries += [_Entry(source, target) for source, target in terms.items()]
        by_folded: defaultdict[str, list[_Entry]] = defaultdict(list)
        for entry in entries:
            if entry.written and not _PRIVATE_CHARS.search(entry.written):
                by_folded[_folded(entry.written)].append(entry)
        return cls(by_folded, PhraseIndex(by_folded))

    def find(self, text: str) -> Iterator[GlossaryMatch]:
        """Yield the matches in the text, in order and without overlaps."""
        if not self._entries:
            return
        folded, end = _folded(text), 0
        for start in self._index.places(folded):
            if start >= end and (longest := self._longest_at(text, folded, start)) is not None:
                yield longest
                end = longest.end

    def _longest_at(self, text: str, folded: str, start: int) -> GlossaryMatch | None:
        for phrase in self._index.phrases_at(folded, start):
            end = start + len(phrase)
            if not _is_edge(text, start):
                return None
            if _is_edge(text, end) and (entry := _entry_for(self._entries[phrase], text[start:end])) is not None:
                return GlossaryMatch(start, end, entry.target)
        return None


def _entry_for(entries: Sequence[_Entry], written: str) -> _Entry | None:
    """Return the entry in the same case, else a term."""
    for entry in entries:
        if entry.written == written:
            return entry
    return next((entry for entry in entries if entry.target is not None), None)


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
