"""Texts of a load: real sentences, one by one and in paragraphs, no text twice; or one sentence with a number."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from models.corpus import read_pairs
from shared.protocol.priority import cost_of

# How many sentences (at least, at most) the requests of each block of 20 have, in random order: 12 one long one, 5 a few,
# 3 a paragraph. Blocks, so that each load has the same share of each.
BLOCK: Final = ((1, 1),) * 12 + ((2, 4),) * 5 + ((6, 12),) * 3
# Where no file is given: all their combinations.
SENTENCE_PARTS: Final = (
    ("My brother", "The old man", "Our teacher", "The doctor", "A friend of mine", "Her sister", "The girl"),
    ("bought a book", "lost the key", "waited for us", "wrote a letter", "saw a dog", "drank some water"),
    ("in the garden", "at the station", "near the river", "in our village", "behind the house", "at school"),
    ("yesterday", "last week", "in the morning", "on Sunday", "two years ago"),
)


class Text(NamedTuple):
    """Text of a request, its cost in units, and what must be in its translation."""

    text: str
    units: float
    expected: str = ""


@dataclass(frozen=True)
class TextSource:
    """Which texts a load sends, from number ``first`` on.

    With a ``template`` one sentence, in which ``{}`` is the number (modulo ``numbers``), as in the ``expected`` translation; else mixed
    texts of the sentences in the file ``pairs``, or of made up ones; with ``alone`` each sentence by itself, again after the last.
    """

    first: int = 0
    template: str = ""
    expected: str = ""
    offset: int = 0
    numbers: int = 1_000_000_000
    pairs: str = ""
    seed: int = 1
    alone: bool = False

    def open(self) -> Callable[[int], Text]:
        """Return what gives the text with a number."""
        if self.template:
            return self._numbered
        sentences = read_sentences(Path(self.pairs) if self.pairs else None)
        if self.alone:
            return lambda number: _text(sentences[number % len(sentences)])
        sentences = random.Random(self.seed).sample(sentences, len(sentences))  # noqa: S311 - a sample, no secret
        return lambda number: self._mixed(sentences, number)

    def _numbered(self, number: int) -> Text:
        named = self.offset + number % self.numbers
        return _text(self.template.format(named), self.expected.format(named))

    def _mixed(self, known: Sequence[str], number: int) -> Text:
        """Return the text with that number: its first two sentences are a pair that no other number has."""
        row, column = divmod(number, len(known))
        first, second = known[column], known[(column + 1 + row) % len(known)]
        block, place = divmod(number, len(BLOCK))
        least, most = random.Random(f"{self.seed} block {block}").sample(BLOCK, len(BLOCK))[place]  # noqa: S311 - the same
        rng = random.Random(f"{self.seed} text {number}")  # noqa: S311 - the same
        sentences = rng.randint(least, most)
        if sentences == 1:
            return _text(f"{first.rstrip('.!?')}, and {second[:1].lower()}{second[1:]}")
        return _text(" ".join([first, second, *rng.sample(known, sentences - 2)]))


def _text(text: str, expected: str = "") -> Text:
    return Text(text, cost_of(len(text)), expected)


def read_sentences(file: Path | None) -> list[str]:
    """Return the English sentences of a file of pairs; without one, made up ones."""
    if file is not None:
        return [pair.english for pair in read_pairs(file)]
    return [" ".join(words) + "." for words in itertools.product(*SENTENCE_PARTS)]
