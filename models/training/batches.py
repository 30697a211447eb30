"""Training examples of both directions, in batches of a few fixed shapes."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from models.tokenizer import END, ENGLISH, PART, SEPARATOR, DemoTokenizer
from models.training.variation import Variant

# Lengths are rounded up to this, so that each kernel is prepared for a few shapes only.
LENGTH_STEP = 8
IGNORED = -100


class Example(NamedTuple):
    """The token ids of a prompt and of its answer."""

    prompt: list[int]
    answer: list[int]

    @property
    def length(self) -> int:
        """Number of tokens, rounded up to LENGTH_STEP."""
        return -(-(len(self.prompt) + len(self.answer)) // LENGTH_STEP) * LENGTH_STEP


@dataclass(frozen=True)
class Batch:
    """Examples of one length in tokens."""

    length: int
    examples: list[Example]

    def tensors(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return input ids, and labels or IGNORED, each (examples, length)."""
        ids = torch.zeros(len(self.examples), self.length, dtype=torch.long)
        labels = torch.full_like(ids, IGNORED)
        for row, (prompt, answer) in enumerate(self.examples):
            end = len(prompt) + len(answer)
            ids[row, :end] = torch.tensor([*prompt, *answer], dtype=torch.long)
            labels[row, len(prompt) - 1 : end - 1] = torch.tensor(answer)
        return ids.to(device), labels.to(device)


def both_directions(variants: Sequence[Variant], tokenizer: DemoTokenizer, longest: int) -> list[Example]:
    """Return two examples for each pair of at most ``longest`` tokens."""
    end = tokenizer.id(END)
    english, typed_english = _sides([variant.pair.english for variant in variants], variants, tokenizer)
    other, typed_other = _sides([variant.pair.other for variant in variants], variants, tokenizer)
    examples: list[Example] = []
    for variant, one, typed_one, two, typed_two in zip(
        variants, english, typed_english, other, typed_other, strict=True
    ):
        if 0 < len(one) <= longest and 0 < len(two) <= longest:
            language, separator = variant.pair.language, PART if variant.is_part else SEPARATOR
            examples.append(Example(tokenizer.prompt(typed_one, ENGLISH, language, separator), [*two, end]))
            examples.append(Example(tokenizer.prompt(typed_two, language, ENGLISH, separator), [*one, end]))
    return examples


def _sides(
    texts: Sequence[str], variants: Sequence[Variant], tokenizer: DemoTokenizer
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the token ids of one side's texts as answers, and as they are typed: some in lower case."""
    answers = tokenizer.encode(texts)
    lower = [number for number, variant in enumerate(variants) if variant.is_lower]
    typed = list(answers)
    for number, ids in zip(lower, tokenizer.encode([texts[number].lower() for number in lower]), strict=True):
        typed[number] = ids
    return answers, typed


def in_order(examples: Iterable[Example], tokens: int) -> list[Batch]:
    """Return batches of about ``tokens`` tokens with every example once."""
    pool = Pool(tokens)
    return [*pool.add(examples), *pool.rest()]


@dataclass
class Pool:
    """Examples that wait, by length, until they fill a batch of about ``tokens`` tokens."""

    tokens: int
    _waiting: defaultdict[int, list[Example]] = field(default_factory=lambda: defaultdict(list))

    def add(self, examples: Iterable[Example]) -> list[Batch]:
        """Return the batches that these examples fill."""
        full: list[Batch] = []
        for example in examples:
            length = example.length
            self._waiting[length].append(example)
            if len(self._waiting[length]) >= max(1, self.tokens // length):
                full.append(Batch(length, self._waiting.pop(length)))
        return full

    def rest(self) -> list[Batch]:
        """Return what waits, in batches that are not full."""
        rest = [Batch(length, examples) for length, examples in self._waiting.items()]
        self._waiting.clear()
        return rest


def shuffled(parts: Iterable[Sequence[Example]], tokens: int, rng: random.Random) -> Iterator[Batch]:
    """Yield full batches of each part of the data in random order.

    Examples that fill no batch wait for the next part.
    """
    pool = Pool(tokens)
    for part in parts:
        batches = pool.add(rng.sample(part, len(part)))
        rng.shuffle(batches)
        yield from batches
