"""Held-out pairs, and training pairs that are too similar to them."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from models.corpus import Pair

# Sentences of these frames are all similar: held out, they would take the whole source with them.
SYNTHETIC = "synthnames"
# The files of models/phrasebook.py.
PHRASE_SOURCES = ("phrasebook", "everyday")
# One of so many rows is held out.
PHRASE_SHARE = 20
SEED = "pairway held-out 1"
SHINGLE_WORDS = 3
# Shorter sentences share most of their words by chance; they are near duplicates only if equal.
MIN_WORDS = 6
# Measured on pawsx, whose twins differ by one word or by the order of words.
SHARED_SHINGLES = 0.5
SHARED_WORDS = 0.8
_WORD = re.compile(r"[^\W\d_]+|[\u3040-\u30ff\u4e00-\u9fff]|\d")


def words_of(text: str) -> tuple[str, ...]:
    """Return a text's words in lower case, each digit as 0, without punctuation."""
    return tuple("0" if word.isdigit() else word for word in _WORD.findall(text.lower()))


def draw(pairs: Iterable[Pair], count: int) -> list[Pair]:
    """Return ``count`` held-out pairs of other sources than SYNTHETIC.

    A function of the texts alone: the smallest hashes of the English sides.
    """
    candidates = {pair.english: pair for pair in pairs if pair.source != SYNTHETIC}
    return heapq.nsmallest(count, candidates.values(), key=lambda pair: digest(pair.english))


def digest(text: str) -> bytes:
    """Return a text's hash, the same in every process."""
    return hashlib.sha256(f"{SEED}\n{' '.join(words_of(text))}".encode()).digest()


def is_held_out_phrase(pair: Pair) -> bool:
    """Return whether a phrasebook row is held out: by its English words, whatever their case and punctuation."""
    return pair.source in PHRASE_SOURCES and int.from_bytes(digest(pair.english)) % PHRASE_SHARE == 0


class NearDuplicates:
    """An index of held-out texts, for one side of the pairs."""

    def __init__(self, texts: Iterable[str], *, equal_only: bool = False) -> None:
        self._texts = [words for words in {words_of(text) for text in texts} if words]
        self._whole = set(self._texts)
        self._index: defaultdict[str, list[int]] = defaultdict(list)
        self._rare: list[int] = []
        if equal_only:
            return
        counts = Counter(word for words in self._texts for word in set(words))
        # A half of a text's words, the rarest: texts that share 80 % of their words share most of these.
        for number, words in enumerate(self._texts):
            rare = sorted(set(words), key=lambda word: (counts[word], word))[: max(1, len(set(words)) // 2)]
            self._rare.append(len(rare))
            for word in rare:
                self._index[word].append(number)

    def has(self, text: str) -> bool:
        """Return whether a held-out text is equal or similar."""
        words = words_of(text)
        if words in self._whole:
            return True
        if len(words) < MIN_WORDS:
            return False
        found = Counter(number for word in set(words) for number in self._index.get(word, ()))
        return any(
            shared * 3 >= self._rare[number] and is_similar(words, self._texts[number])
            for number, shared in found.items()
        )


def is_similar(one: Sequence[str], two: Sequence[str]) -> bool:
    """Return whether two texts share most of their words, or half of their shingles."""
    if min(len(one), len(two)) < MIN_WORDS:
        return False
    words = (set(one), set(two))
    if len(words[0] & words[1]) >= SHARED_WORDS * len(words[0] | words[1]):
        return True
    shingles = (shingles_of(one), shingles_of(two))
    return len(shingles[0] & shingles[1]) >= SHARED_SHINGLES * min(len(each) for each in shingles)


def shingles_of(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the runs of SHINGLE_WORDS words."""
    return {tuple(words[start : start + SHINGLE_WORDS]) for start in range(len(words) - SHINGLE_WORDS + 1)}


def cleared(pairs: Iterable[Pair], similar: Sequence[Pair], equal: Sequence[Pair]) -> list[Pair]:
    """Return the pairs of which neither side is a near duplicate.

    ``similar``: held-out pairs of which nothing similar may stay; ``equal``: those of which nothing equal may, but for
    case, digits and punctuation.
    """
    indexes = [
        (NearDuplicates(pair.english for pair in held), NearDuplicates(pair.other for pair in held))
        if held is similar
        else (
            NearDuplicates((pair.english for pair in held), equal_only=True),
            NearDuplicates((pair.other for pair in held), equal_only=True),
        )
        for held in (similar, equal)
    ]
    return [
        pair
        for pair in pairs
        if not any(english.has(pair.english) or other.has(pair.other) for english, other in indexes)
    ]
