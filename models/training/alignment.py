"""Word alignment: which words of a pair translate each other.

A lexicon is learnt from the pairs themselves (IBM model 1, both directions); the best scores link words, one to one
(competitive linking, Melamed 2000).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.corpus import Pair

# More pairs make the lexicon little better, but take memory: about 1 GB.
MAX_PAIRS = 150_000
MAX_WORDS = 30
MIN_COUNT = 3
ITERATIONS = 4
# The lexicon keeps pairs of words above this mean probability.
MIN_SCORE = 0.03
SAME_WORD = 0.9
# What a word at the other end of the sentence loses.
DISTANCE_COST = 0.6
_NUMBER = r"\d+(?:[.,:]\d+)*"
_CJK = "[\u3040-\u30ff\u4e00-\u9fff]"
WORD = re.compile(rf"{_NUMBER}|{_CJK}|[^\W\d]+(?:['’][^\W\d]+)*\w*")
# L'eau is two words, as is the water.
ELIDED_WORD = re.compile(rf"{_NUMBER}|[^\W\d]+['’]|[^\W\d]\w*")
ELIDING = frozenset({"fr"})


class Word(NamedTuple):
    """A word and its place in a text."""

    text: str
    start: int
    end: int


class Link(NamedTuple):
    """The indices of two words that translate each other."""

    english: int
    other: int


@dataclass(frozen=True)
class AlignedPair:
    """A pair's words and their links; ``english`` and ``other`` are in the order of the text."""

    pair: Pair
    english: list[Word]
    other: list[Word]
    links: list[Link]

    def cuts(self) -> Iterator[Link]:
        """Yield pairs of linked words after which both texts can end: no link crosses.

        Linked words follow on both sides, so that no half of a translation is cut off ("can't" | "kann" "nicht").
        """
        english = dict(self.links)
        others = set(english.values())
        furthest = -1
        for index in range(len(self.english) - 1):
            furthest = max(furthest, english.get(index, -1))
            if index not in english or index + 1 not in english or furthest + 1 not in others:
                continue
            if all(link.other > furthest for link in self.links if link.english > index):
                yield Link(index, furthest)

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the other words (first, last) of English words ``start`` to ``end``.

        None unless the first and last words are linked, and no link leads out of the words.
        """
        inside = [link.other for link in self.links if start <= link.english <= end]
        edges = {link.english for link in self.links} & {start, end}
        if len(edges) < len({start, end}):
            return None
        first, last = min(inside), max(inside)
        if any(first <= link.other <= last and not start <= link.english <= end for link in self.links):
            return None
        return first, last


def words_in(text: str, language: str) -> list[Word]:
    """Return the text's words."""
    pattern = ELIDED_WORD if language in ELIDING else WORD
    return [Word(match.group(), match.start(), match.end()) for match in pattern.finditer(text)]


@dataclass(frozen=True)
class Lexicon:
    """How well words of one language translate English words, 0 to 1."""

    scores: Mapping[str, Mapping[str, float]]

    @classmethod
    def learn(cls, pairs: Sequence[Pair], rng: random.Random) -> Lexicon:
        """Return the lexicon of at most MAX_PAIRS of the pairs, which have one language."""
        chosen = list(pairs) if len(pairs) <= MAX_PAIRS else rng.sample(pairs, MAX_PAIRS)
        sides = [
            (
                [word.text.lower() for word in words_in(pair.english, "en")],
                [word.text.lower() for word in words_in(pair.other, pair.language)],
            )
            for pair in chosen
        ]
        sides = [(one, two) for one, two in sides if 0 < len(one) <= MAX_WORDS and 0 < len(two) <= MAX_WORDS]
        if not sides:
            return cls({})
        english, other = vocabulary(one for one, _ in sides), vocabulary(two for _, two in sides)
        counts = Cooccurrences.of(
            [[english.get(word, 0) for word in one] for one, _ in sides],
            [[other.get(word, 0) for word in two] for _, two in sides],
        )
        return cls(counts.scores(list(english), list(other)))

    def align(self, pair: Pair) -> AlignedPair:
        """Return the pair's words and the links between them, the best first."""
        english, other = words_in(pair.english, "en"), words_in(pair.other, pair.language)
        found: list[tuple[float, Link]] = []
        for index, word in enumerate(english):
            row = self.scores.get(word.text.lower(), {})
            for other_index, other_word in enumerate(other):
                score = row.get(other_word.text.lower(), 0.0)
                if word.text == other_word.text and (word.text[0].isupper() or word.text[0].isdigit()):
                    score = max(score, SAME_WORD)
                if score:
                    distance = abs((index + 0.5) / len(english) - (other_index + 0.5) / len(other))
                    found.append((score * (1 - DISTANCE_COST * distance), Link(index, other_index)))
        found.sort(reverse=True)
        links: dict[int, Link] = {}
        taken: set[int] = set()
        for _, link in found:
            if link.english not in links and link.other not in taken:
                links[link.english] = link
                taken.add(link.other)
        return AlignedPair(pair, english, other, list(links.values()))


def vocabulary(texts: Iterator[list[str]]) -> dict[str, int]:
    """Return numbers from 1 for words seen MIN_COUNT times; 0 stands for the rest."""
    counts = Counter(word for text in texts for word in text)
    words = [word for word, count in counts.items() if count >= MIN_COUNT]
    return {"": 0} | {word: number for number, word in enumerate(words, 1)}


@dataclass(frozen=True)
class Cooccurrences:
    """Each pair of words in one sentence pair, as arrays of the same length."""

    keys: NDArray[np.int64]  # distinct pairs of words: english * width + other
    key_of: NDArray[np.int64]  # index into ``keys``
    english_place: NDArray[np.int64]  # number of the English word among all places
    other_place: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, english: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> Cooccurrences:
        """Return all pairs of words in the sentence pairs."""
        one, two = flat(english), flat(other)
        lengths = np.array([len(each) for each in english], np.int64)
        other_lengths = np.array([len(each) for each in other], np.int64)
        # Every English place is repeated for each word of its other side.
        repeats = np.repeat(other_lengths, lengths)
        english_place = np.repeat(np.arange(len(one), dtype=np.int64), repeats)
        first = np.repeat(np.cumsum(other_lengths) - other_lengths, lengths)
        nth = np.arange(len(english_place), dtype=np.int64) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        other_place = np.repeat(first, repeats) + nth
        width = int(two.max()) + 1
        keys, key_of = np.unique(one[english_place] * width + two[other_place], return_inverse=True)
        return cls(keys, key_of, english_place, other_place, width)

    def scores(self, english: Sequence[str], other: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return the geometric mean of both directions' probabilities, above MIN_SCORE."""
        mean = np.sqrt(
            self._probabilities(self.keys // self.width, self.other_place)
            * self._probabilities(self.keys % self.width, self.english_place)
        )
        scores: dict[str, dict[str, float]] = {}
        for at in np.flatnonzero(mean > MIN_SCORE):
            one, two = divmod(int(self.keys[at]), self.width)
            if one and two:
                scores.setdefault(english[one], {})[other[two]] = float(mean[at])
        return scores

    def _probabilities(self, given: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return IBM model 1's probability of each key, if its word ``given`` translates the words at ``places``."""
        probability = np.ones(len(self.keys))
        for _ in range(ITERATIONS):
            share = probability[self.key_of]
            share /= np.bincount(places, share)[places]
            counts = np.bincount(self.key_of, share, len(self.keys))
            probability = counts / np.bincount(given, counts)[given]
        return probability


def flat(texts: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return all numbers in one array."""
    return np.fromiter((number for text in texts for number in text), np.int64)
