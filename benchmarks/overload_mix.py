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

# Shares of the requests by their sentences: one long one, a few, a paragraph.
SHAPES: Final = (((1, 1), 60), ((2, 4), 25), ((6, 12), 15))
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
        rng = random.Random(self._seed * 1_000_003 + number)  # noqa: S311 - a sample, no secret
        ((least, most),) = rng.choices([shape for shape, _ in SHAPES], [share for _, share in SHAPES])
        sentences = rng.randint(least, most)
        if sentences == 1:
            text = f"{first.rstrip('.!?')}, and {second[:1].lower()}{second[1:]}"
        else:
            text = " ".join([first, second, *rng.sample(known, sentences - 2)])
        return Text(text, cost_of(len(text)))
