"""What the run's texts are made of: uniform ones of about 30 tokens, mixed ones of 10 to 200, none twice. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

UNIFORM: Final = "uniform"
MIXED: Final = "mixed"
# Tokens of words; the prompt's own tokens come on top.
UNIFORM_TOKENS: Final = (27, 33)
MIXED_TOKENS: Final = (10, 200)
# Mixed lengths come in blocks of so many, each block with a length of each sixteenth of the range (short ones are as
# frequent as in speech: evenly in the logarithm), so that any short stretch of them costs about the same.
BLOCK: Final = 16
# What is tried for one text before the next length is aimed at.
TRIES: Final = 2000


class Sentence(NamedTuple):
    """A sentence that is one engine request, and its length in tokens."""

    text: str
    tokens: int


def joined(sentences: Sequence[str], conjunction: str, count: Callable[[str], int], seed: str) -> Iterator[Sentence]:
    """Yield new sentences of two old ones with a conjunction between them, all of about one length.

    Ends when no more are found.
    """
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    known = [Sentence(sentence, count(sentence)) for sentence in sentences]
    seen: set[str] = set()
    least, most = UNIFORM_TOKENS
    misses = 0
    while misses < TRIES:
        misses += 1
        first, second = rng.choice(known), rng.choice(known)
        if not least - 3 <= first.tokens + second.tokens <= most:
            continue
        text = f"{first.text.rstrip('.!?')}, {conjunction} {second.text[:1].lower()}{second.text[1:]}"
        if text not in seen and least <= (tokens := count(text)) <= most:
            seen.add(text)
            misses = 0
            yield Sentence(text, tokens)


def mixed(units: Sequence[Sentence], seed: str) -> Iterator[str]:
    """Yield texts of one or more units, lengths spread over the range; no text twice, no unit twice in a text.

    Ends when no more are found.
    """
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    by_length = sorted(units, key=lambda unit: unit.tokens)
    seen: set[tuple[str, ...]] = set()
    least, most = MIXED_TOKENS
    step = math.log(most / least) / BLOCK
    misses = 0
    while misses < TRIES:
        lengths = [round(least * math.exp(step * (number + rng.random()))) for number in range(BLOCK)]
        rng.shuffle(lengths)
        for length in lengths:
            text = tuple(unit.text for unit in _of_length(by_length, length, rng))
            if text in seen:
                misses += 1
                continue
            seen.add(text)
            misses = 0
            yield " ".join(text)


def _of_length(by_length: Sequence[Sentence], length: int, rng: random.Random) -> list[Sentence]:
    """Return units of so many tokens together, or nearly."""
    chosen: list[Sentence] = []
    left = length
    while left > 0:
        # The last one is chosen among those that fit best, those before it among all.
        fitting = by_length if left > 2 * by_length[-1].tokens else _nearest(by_length, left)
        unit = rng.choice(fitting)
        if unit not in chosen:
            chosen.append(unit)
            left -= unit.tokens
        if left < by_length[0].tokens:
            break
    return chosen


def _nearest(by_length: Sequence[Sentence], tokens: int) -> Sequence[Sentence]:
    best = min(abs(unit.tokens - tokens) for unit in by_length)
    return [unit for unit in by_length if abs(unit.tokens - tokens) <= best + 1]
