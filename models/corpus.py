"""Sentence pairs from a file, with names and numbers varied."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ENGLISH_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
OTHER_NAME = re.compile(r"\b[A-Z][a-zà-ÿ]{2,}\b")
NUMBER = re.compile(r"\d+")
COMMON_NAMES = 600
SWAPPED_NAMES = 2
KNOWN_NAME_SHARE = 0.4
SYLLABLES = "ka lo mi ra sen tor vel na di bri gu zan pel ho is an el ur fa ric dan ne wol sa mar ten ju yo"


class Pair(NamedTuple):
    """One sentence in English and in the other language."""

    english: str
    other: str


def read_pairs(file: Path) -> list[Pair]:
    """Return the pairs of a UTF-8 file of `english<TAB>other` lines."""
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").split("\n"))
    return [Pair(row[0], row[1]) for row in rows if len(row) > 1]


@dataclass(frozen=True)
class Swapper:
    """Swaps names (two at most) and numbers for random ones.

    From random names and numbers a model learns to copy unknown ones.
    """

    names: tuple[str, ...]
    rng: random.Random

    @classmethod
    def over(cls, pairs: Iterable[Pair], rng: random.Random) -> Swapper:
        """Return a swapper that knows the most common names."""
        counts = Counter(name for pair in pairs for name in shared(pair, ENGLISH_NAME, OTHER_NAME))
        return cls(tuple(name for name, _ in counts.most_common(COMMON_NAMES)), rng)

    def swap(self, pair: Pair, probability: float) -> Pair:
        """Return the pair, changed with that probability."""
        if self.rng.random() >= probability:
            return pair
        names = [name for name in shared(pair, ENGLISH_NAME, OTHER_NAME) if name in self.names]
        swaps = {name: self._name() for name in names[:SWAPPED_NAMES]}
        swaps |= {number: self._number(len(number)) for number in shared(pair, NUMBER, NUMBER)}
        if not swaps:
            return pair
        pattern = re.compile(rf"\b({'|'.join(swaps)})\b")
        return Pair(*(pattern.sub(lambda match: swaps[match.group()], text) for text in pair))

    def _name(self) -> str:
        if self.rng.random() < KNOWN_NAME_SHARE:
            return self.rng.choice(self.names)
        return "".join(self.rng.choices(SYLLABLES.split(), k=self.rng.choice((2, 2, 3)))).capitalize()

    def _number(self, digits: int) -> str:
        return str(self.rng.randint(10 ** (digits - 1), 10**digits - 1))


def shared(pair: Pair, english: re.Pattern[str], other: re.Pattern[str]) -> list[str]:
    """Return the words that match on both sides, sorted."""
    return sorted(set(english.findall(pair.english)) & set(other.findall(pair.other)))
