"""Phrase index: which phrases of a set begin at a place.

A pattern of all phrases would take long to compile, and keep words of texts in the cache of ``re``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class PhraseIndex:
    """Phrases in order; a look-up costs a few comparisons, whatever their number."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = sorted(set(phrases))
        self._longest = max(map(len, self._phrases), default=0)
        self._beginnings = {phrase[:2] for phrase in self._phrases}
        # The longest other phrase with which each phrase begins, or -1.
        self._shorter: list[int] = []
        open_phrases: list[int] = []
        for index, phrase in enumerate(self._phrases):
            while open_phrases and not phrase.startswith(self._phrases[open_phrases[-1]]):
                open_phrases.pop()
            self._shorter.append(open_phrases[-1] if open_phrases else -1)
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
        while index >= 0:
            if text.startswith(self._phrases[index], place):
                yield self._phrases[index]
            index = self._shorter[index]
