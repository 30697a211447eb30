"""Phrases: where a client's names and terms stand in a text. Pure.

A phrase stands where it is a whole word or several: not inside a longer word of a script that has spaces between its
words. Names match as they are written, terms in any case. Where several could begin, the longest does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

# Scripts that write words without spaces (Thai, Lao, Myanmar, Khmer, Tibetan, kana, ideographs), and Hangul, whose
# particles are written onto the word: there a phrase may begin and end anywhere.
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u30ff\u3130-\u318f\u31f0-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uffdc\U00020000-\U0003ffff]"
)
_PRIVATE: Final = re.compile("[\U000f0000-\U0010ffff]")


class GlossaryMatch(NamedTuple):
    """Where a phrase stands; ``target`` is how the client wants it said, None for a name that stays as it is."""

    start: int
    end: int
    target: str | None


class _Phrase(NamedTuple):
    """A name (without target) or a term, and how it is looked for."""

    written: str
    folded: str
    target: str | None


class _Node:
    """A place in the tree of phrases: what may come next, and the phrases that end here."""

    __slots__ = ("branches", "ends")

    def __init__(self) -> None:
        self.branches: dict[str, _Node] = {}
        self.ends: list[_Phrase] = []


def _tree(phrases: Iterable[_Phrase]) -> _Node:
    root = _Node()
    for phrase in phrases:
        node = root
        for char in phrase.folded:
            node = node.branches.setdefault(char, _Node())
        node.ends.append(phrase)
    return root


@dataclass(frozen=True, slots=True)
class GlossaryMatcher:
    """A request's names and terms.

    Finding them costs one fast scan of the text for each phrase and, where one is in it, a walk whose work per
    character is bounded by the longest phrase (200 characters: shared.protocol.messages.MAX_PHRASE_CHARS).
    """

    _folded: tuple[str, ...]
    _tree: _Node
    _starts: re.Pattern[str]

    @classmethod
    def of(cls, names: Sequence[str], terms: Mapping[str, str]) -> Self:
        """Take the phrases; one with a mark's character in it, which no parsed text holds, is never found."""
        found = [_Phrase(name, _folded(name), None) for name in names]
        found += [_Phrase(source, _folded(source), target) for source, target in terms.items()]
        phrases = [phrase for phrase in found if phrase.folded and not _PRIVATE.search(phrase.written)]
        tree = _tree(phrases)
        starts = re.compile("[" + "".join(map(re.escape, tree.branches)) + "]" if phrases else "(?!)")
        return cls(tuple({phrase.folded for phrase in phrases}), tree, starts)

    def find(self, text: str) -> Iterator[GlossaryMatch]:
        """Yield what stands in the text, in order and without overlaps."""
        folded = _folded(text) if self._folded else ""
        if not any(phrase in folded for phrase in self._folded):
            return
        end = 0
        for match in self._starts.finditer(folded):
            start = match.start()
            if start >= end and _is_edge(text, start):
                found = _longest(self._tree, text, folded, start)
                if found is not None:
                    yield found
                    end = found.end


def _longest(tree: _Node, text: str, folded: str, start: int) -> GlossaryMatch | None:
    """Return the longest phrase that begins there and ends at a word's edge."""
    node: _Node | None = tree
    best: GlossaryMatch | None = None
    for position in range(start, len(folded)):
        node = node.branches.get(folded[position])
        if node is None:
            break
        if node.ends and _is_edge(text, position + 1):
            phrase = _chosen(node.ends, text[start : position + 1])
            best = best if phrase is None else GlossaryMatch(start, position + 1, phrase.target)
    return best


def _chosen(phrases: Sequence[_Phrase], written: str) -> _Phrase | None:
    """Return the phrase for how it is written here: one in that very case, a name first; else a term in another."""
    for phrase in phrases:
        if phrase.written == written:
            return phrase
    return next((phrase for phrase in phrases if phrase.target is not None), None)


def _is_edge(text: str, position: int) -> bool:
    """Say whether no word of a script with spaces runs across the position."""
    return not (
        0 < position < len(text) and _is_word_character(text[position - 1]) and _is_word_character(text[position])
    )


def _is_word_character(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM" and not _UNSPACED.match(char)


def _folded(text: str) -> str:
    """Return the text in lower case, character for character: positions stay what they are."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)
