"""Glossary: finds a client's names and terms in a text.

The longest entry matches: names as written, terms in any case; in scripts with spaces only whole words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

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
    folded: str
    target: str | None


class _TrieNode:
    __slots__ = ("children", "entries")

    def __init__(self) -> None:
        self.children: dict[str, _TrieNode] = {}
        self.entries: list[_Entry] = []


def _build_trie(entries: Iterable[_Entry]) -> _TrieNode:
    root = _TrieNode()
    for entry in entries:
        node = root
        for char in entry.folded:
            node = node.children.setdefault(char, _TrieNode())
        node.entries.append(entry)
    return root


@dataclass(frozen=True, slots=True)
class GlossaryMatcher:
    """Finds a request's names and terms.

    The work per character is bounded by the longest entry (shared.protocol.translate_request.MAX_PHRASE_CHARS).
    """

    _folded: tuple[str, ...]
    _trie: _TrieNode
    _first_chars: re.Pattern[str]

    @classmethod
    def of(cls, names: Sequence[str], terms: Mapping[str, str]) -> Self:
        """Return the matcher; entries with private-use characters never match a parsed text."""
        entries = [_Entry(name, _folded(name), None) for name in names]
        entries += [_Entry(source, _folded(source), target) for source, target in terms.items()]
        entries = [entry for entry in entries if entry.folded and not _PRIVATE_CHARS.search(entry.written)]
        trie = _build_trie(entries)
        first_chars = re.compile("[" + "".join(map(re.escape, trie.children)) + "]" if entries else "(?!)")
        return cls(tuple({entry.folded for entry in entries}), trie, first_chars)

    def find(self, text: str) -> Iterator[GlossaryMatch]:
        """Yield the matches in the text, in order and without overlaps."""
        folded = _folded(text) if self._folded else ""
        if not any(entry in folded for entry in self._folded):
            return
        end = 0
        for match in self._first_chars.finditer(folded):
            start = match.start()
            if start >= end and _is_edge(text, start):
                longest = _longest_match(self._trie, text, folded, start)
                if longest is not None:
                    yield longest
                    end = longest.end


def _longest_match(trie: _TrieNode, text: str, folded: str, start: int) -> GlossaryMatch | None:
    node: _TrieNode | None = trie
    best: GlossaryMatch | None = None
    for position in range(start, len(folded)):
        node = node.children.get(folded[position])
        if node is None:
            break
        if node.entries and _is_edge(text, position + 1):
            entry = _entry_for(node.entries, text[start : position + 1])
            best = best if entry is None else GlossaryMatch(start, position + 1, entry.target)
    return best


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
