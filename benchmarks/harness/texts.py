"""The overload benchmark's requests: real sentences, one by one and in paragraphs, no text twice. Pure but for the file."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Final, NamedTuple

from models.corpus import read_pairs
from shared.cost import cost_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# How many sentences (at least, at most) the requests of each block of 20 have, in random order: 12 one long one, 5 a few,
# 3 a paragraph. Blocks, so that each load has the same share of each.
BLOCK: Final = ((1, 1),) * 12 + ((2, 4),) * 5 + ((6, 12),) * 3
# Where no file is given: all their combinations.
_WHO: Final = ("My brother", "The old man", "Our teacher", "The doctor", "A friend of mine", "Her sister", "The girl")
_DOES: Final = ("bought a book", "lost the key", "waited for us", "wrote a letter", "saw a dog", "drank some water")
_WHERE: Final = ("in the garden", "at the station", "near the river", "in our village", "behind the house", "at school")
_WHEN: Final = ("yesterday", "last week", "in the morning", "on Sunday", "two years ago")


class Text(NamedTuple):
    """One request's text and what it costs, units."""

    text: str
    units: float


def read_sentences(file: Path | None) -> list[str]:
    """Return the English sentences of a file of pairs; without one, made up ones."""
    if file is not None:
        return [pair.english for pair in read_pairs(file)]
    return [" ".join(words) + "." for words in itertools.product(_WHO, _DOES, _WHERE, _WHEN)]


class Mix:
    """Texts by number: each number has another text, the same one with the same seed."""

    def __init__(self, sentences: Sequence[str], seed: int) -> None:
        """Take the sentences, in an order of the seed's."""
        self._sentences = random.Random(seed).sample(sentences, len(sentences))  # noqa: S311 - a sample, no secret
        self._seed = seed

    def text(self, number: int) -> Text:
        """Return the text with that number: its first two sentences are a pair that no other number has."""
        known = self._sentences
        row, column = divmod(number, len(known))
        first, second = known[column], known[(column + 1 + row) % len(known)]
        block, place = divmod(number, len(BLOCK))
        least, most = random.Random(f"{self._seed} block {block}").sample(BLOCK, len(BLOCK))[place]  # noqa: S311 - the same
        rng = random.Random(f"{self._seed} text {number}")  # noqa: S311 - the same
        sentences = rng.randint(least, most)
        if sentences == 1:
            text = f"{first.rstrip('.!?')}, and {second[:1].lower()}{second[1:]}"
        else:
            text = " ".join([first, second, *rng.sample(known, sentences - 2)])
        return Text(text, cost_of(len(text)))
