"""Matcher: finds the entries of a dictionary that occur in texts. Pure.

It finds all that an API server finds (apiserver/protection/glossary.py), and sometimes more: it compares words without the
signs and spaces between them, so that markup and line breaks hide nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from sys import getsizeof
from typing import Final, NamedTuple

from proxy.routing.visible_text import unescape
from shared.protocol.translate_request import TextFormat
from shared.runtime.turns import Steps

# Scripts in which words stand without spaces, and Hangul: there each character is a token.
UNSPACED: Final = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u30ff\u3130-\u318f\u31f0-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uffdc\U00020000-\U0003ffff"
)
# Every place where an API server lets an entry begin or end lies between two tokens.
_WORDS: Final = re.compile(rf"[^\W_{UNSPACED}]+|[{UNSPACED}]")
# For entries without words, such as "→".
_SIGNS: Final = re.compile(r"[^\w\s]|_")
# Ends each token; it is in none.
_END: Final = "\0"
# Entries of a step, up to 20 ms; without a word each sign of theirs is a token.
STEP_ENTRIES: Final = 500
# Tokens of a text that are held at once, and as many that follow: each takes some 60 bytes.
PART_TOKENS: Final = 4096


class TermMatcher:
    """Finds a dictionary's entries; thread-safe.

    The work for each token of a text is a search among the sorted entries. ``word_bytes``: of all its strings.
    """

    def __init__(self, entries: Mapping[str, str], words: _TokenIndex, signs: _TokenIndex) -> None:
        self.entries = entries
        self._words = words
        self._signs = signs
        written = sum(getsizeof(source) + getsizeof(target) for source, target in entries.items())
        self.word_bytes = written + words.word_bytes + signs.word_bytes

    @classmethod
    def build(cls, entries: Mapping[str, str]) -> Steps[TermMatcher]:
        """Return the matcher of these entries, in steps."""
        words, signs = _SourcesByTokens(_WORDS), _SourcesByTokens(_SIGNS)
        for number, source in enumerate(entries, 1):
            folded = source.casefold()
            if not words.add(source, folded):
                signs.add(source, folded)
            if not number % STEP_ENTRIES:
                yield
        return cls(entries, _TokenIndex(words), _TokenIndex(signs))

    def find(self, texts: Iterable[str], text_format: TextFormat) -> Steps[list[str]]:
        """Return the sources of entries in the texts, longest first, in steps."""
        words, signs = set[int](), set[int]()
        for text in texts:
            for written in _readings(text, text_format):
                folded = written.casefold()
                yield from self._words.find(folded, words)
                yield from self._signs.find(folded, signs)
        found = [*self._words.sources(words), *self._signs.sources(signs)]
        return sorted(found, key=len, reverse=True)


class _SourcesByTokens:
    """Entries by their tokens, which ``token`` finds."""

    __slots__ = ("first_tokens", "sources", "token")

    def __init__(self, token: re.Pattern[str]) -> None:
        self.token = token
        self.first_tokens = set[str]()
        self.sources: dict[str, list[str]] = {}

    def add(self, source: str, folded: str) -> bool:
        """Add an entry; return whether it has tokens."""
        tokens = self.token.findall(folded)
        if tokens:
            self.first_tokens.add(tokens[0])
            self.sources.setdefault(_joined(tokens), []).append(source)
        return bool(tokens)


class _TokenIndex:
    """Entries as sorted sequences of tokens."""

    __slots__ = ("_first_tokens", "_keys", "_links", "_longest", "_sources", "_token")

    def __init__(self, entries: _SourcesByTokens) -> None:
        self._token = entries.token
        self._first_tokens = entries.first_tokens
        self._sources = entries.sources
        self._keys = sorted(self._sources)
        self._longest = max(map(len, self._keys), default=0)
        self._links = _links(self._keys)

    @property
    def word_bytes(self) -> int:
        """Bytes of its own strings."""
        return sum(map(getsizeof, self._keys)) + sum(map(getsizeof, self._first_tokens))

    def sources(self, indices: Iterable[int]) -> list[str]:
        """Return the entries with these keys; equal keys in written order."""
        return [source for index in sorted(indices) for source in self._sources[self._keys[index]]]

    def find(self, folded: str, found: set[int]) -> Steps[None]:
        """Add the indices of all keys in the text, in steps."""
        if not self._keys:
            return
        # With a character and its end in each token, every entry that begins in a part ends in the next one.
        size = max(PART_TOKENS, self._longest // 2 + 1)
        tokens = (match[0] for match in self._token.finditer(folded))
        part = list(islice(tokens, size))
        while part:
            following = list(islice(tokens, size))
            if not self._first_tokens.isdisjoint(part):
                self._find_in(part, _joined((*part, *following)), found)
            part = following
            yield

    def _find_in(self, part: Sequence[str], text: str, found: set[int]) -> None:
        start = 0
        for token in part:
            if token in self._first_tokens:
                self._find_at(text[start : start + self._longest], found)
            start += len(token) + len(_END)

    def _find_at(self, rest: str, found: set[int]) -> None:
        # Every key that begins the text is the last one up to it, or a prefix of that.
        index = bisect_right(self._keys, rest) - 1
        while index >= 0 and index not in found and not rest.startswith(self._keys[index]):
            jump = self._links.jumps[index]
            is_too_far = jump < 0 or rest.startswith(self._keys[jump])
            index = self._links.prefixes[index] if is_too_far else jump
        while index >= 0 and index not in found:
            found.add(index)
            index = self._links.prefixes[index]


def _joined(tokens: Sequence[str]) -> str:
    return _END.join((*tokens, ""))


class _Links(NamedTuple):
    """Links from each sorted key to two of its prefixes.

    They are indices, of the longest prefix and of a shorter one; -1 for none. With the jumps, a shorter prefix is found in logarithmic time (Myers, skew-binary random access lists).
    """

    prefixes: list[int]
    jumps: list[int]


def _links(keys: Sequence[str]) -> _Links:
    links, depths, open_keys = _Links([], []), list[int](), list[int]()
    for index, key in enumerate(keys):
        while open_keys and not key.startswith(keys[open_keys[-1]]):
            open_keys.pop()
        prefix = open_keys[-1] if open_keys else -1
        first, second = _two_jumps(links, prefix)
        depth_of = [depths[each] if each >= 0 else 0 for each in (prefix, first, second)]
        is_even = depth_of[0] - depth_of[1] == depth_of[1] - depth_of[2]
        links.prefixes.append(prefix)
        links.jumps.append(second if is_even else prefix)
        depths.append(depth_of[0] + 1)
        open_keys.append(index)
    return links


def _two_jumps(links: _Links, index: int) -> tuple[int, int]:
    first = links.jumps[index] if index >= 0 else -1
    return first, links.jumps[first] if first >= 0 else -1


def _readings(text: str, text_format: TextFormat) -> tuple[str, ...]:
    """Return the text, and in markup also with its character references resolved."""
    if text_format is TextFormat.TEXT or "&" not in text:
        return (text,)
    return (text, unescape(text))
