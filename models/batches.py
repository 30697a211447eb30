"""Training examples of both directions, in batches of a few fixed shapes."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from models.corpus import Pair
from models.tokenizer import END, ENGLISH, PairTokenizer

# Lengths are rounded up to this, so that each kernel is prepared for a few shapes only.
LENGTH_STEP = 8
IGNORED = -100


class Example(NamedTuple):
    """The token ids of a prompt and of its answer."""

    prompt: list[int]
    answer: list[int]


@dataclass(frozen=True)
class Batch:
    """Examples of one length in tokens, filled up with empty examples."""

    length: int
    examples: list[Example]

    def tensors(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return input ids, and labels or IGNORED, each (examples, length)."""
        ids = torch.zeros(len(self.examples), self.length, dtype=torch.long)
        labels = torch.full_like(ids, IGNORED)
        for row, (prompt, answer) in enumerate(self.examples):
            end = len(prompt) + len(answer)
            ids[row, :end] = torch.tensor([*prompt, *answer], dtype=torch.long)
            if answer:
                labels[row, len(prompt) - 1 : end - 1] = torch.tensor(answer)
        return ids.to(device), labels.to(device)


def both_directions(pairs: Sequence[Pair], tokenizer: PairTokenizer, longest: int) -> list[Example]:
    """Return two examples for each pair of at most `longest` tokens."""
    language, end = tokenizer.language, tokenizer.id(END)
    english = tokenizer.encode([pair.english for pair in pairs])
    other = tokenizer.encode([pair.other for pair in pairs])
    examples: list[Example] = []
    for one, two in zip(english, other, strict=True):
        if max(len(one), len(two)) <= longest:
            examples.append(Example(tokenizer.prompt(one, ENGLISH, language), [*two, end]))
            examples.append(Example(tokenizer.prompt(two, language, ENGLISH), [*one, end]))
    return examples


def in_order(examples: Sequence[Example], tokens: int) -> list[Batch]:
    """Return batches of about `tokens` tokens with every example once."""
    return [batch for length, bucket in buckets(examples) for batch in cut(length, bucket, tokens)]


def shuffled(examples: Sequence[Example], tokens: int, rng: random.Random) -> list[Batch]:
    """Return one epoch's batches in random order, without small remainders.

    A remainder of less than half a batch is left out.
    """
    batches: list[Batch] = []
    for length, bucket in buckets(examples):
        rng.shuffle(bucket)
        rows = rows_of(length, tokens)
        rest = len(bucket) % rows
        whole = len(bucket) - rest if rest < rows // 2 else len(bucket)
        batches += cut(length, bucket[:whole], tokens)
    rng.shuffle(batches)
    return batches


def buckets(examples: Sequence[Example]) -> list[tuple[int, list[Example]]]:
    """Return the examples by their length, rounded up to LENGTH_STEP."""
    by_length: defaultdict[int, list[Example]] = defaultdict(list)
    for example in examples:
        length = len(example.prompt) + len(example.answer)
        by_length[-(-length // LENGTH_STEP) * LENGTH_STEP].append(example)
    return list(by_length.items())


def cut(length: int, bucket: Sequence[Example], tokens: int) -> Iterator[Batch]:
    """Yield a bucket's batches, the last one filled up with empty examples."""
    rows = rows_of(length, tokens)
    for start in range(0, len(bucket), rows):
        part = list(bucket[start : start + rows])
        yield Batch(length, part + [Example([], [])] * (rows - len(part)))


def rows_of(length: int, tokens: int) -> int:
    """Return the number of rows in about `tokens` tokens, at least one."""
    return max(1, tokens // length)
