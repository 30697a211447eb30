"""The state in which a run begins: random weights, stored ones, or a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from models.llama import Llama, Shape, load_weights
from models.tokenizer import PART, SEPARATOR, DemoTokenizer
from models.training.checkpoint import read_checkpoint
from models.training.optimisers import AveragedWeights

# Rows of the embedding are a multiple of this, which kernels compute best.
ROWS_STEP = 64


@dataclass
class Progress:
    """What a run has done; ``seconds`` of processor time, which a paused machine does not spend."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Start:
    """Tokenizer, weights and progress; ``optimisers`` is their state, None if fresh."""

    tokenizer: DemoTokenizer
    model: Llama
    averaged: AveragedWeights
    progress: Progress
    optimisers: dict[str, Any] | None

    @classmethod
    def fresh(cls, tokenizer: DemoTokenizer, model: Llama) -> Start:
        """Return the start of a new run."""
        return cls(tokenizer, model, AveragedWeights(model), Progress(), None)

    @classmethod
    def resumed(cls, file: Path) -> Start:
        """Return the start after a checkpoint; raise ValueError if it is not whole."""
        saved = read_checkpoint(file)
        model = Llama(Shape(**saved.shape))
        averaged = AveragedWeights(model)
        model.load_state_dict(saved.weights)
        averaged.model.load_state_dict(saved.averaged)
        progress = Progress(saved.step, saved.tokens, saved.seconds)
        return cls(DemoTokenizer.parse(saved.tokenizer), model, averaged, progress, saved.optimisers)


def from_folder(folder: Path, languages: Sequence[str], texts: Iterable[str], vocabulary: int) -> Start:
    """Return a start with the weights of a model's folder.

    With the model's languages its tokenizer stays, with placeholders if it had none. With other languages a new one of
    ``vocabulary`` tokens is learnt from ``texts``; all layers are kept, and the rows of tokens that both have.
    """
    old_tokenizer, old = DemoTokenizer.load(folder), load_weights(folder)
    if set(languages) == set(old_tokenizer.languages):
        tokenizer = old_tokenizer
    else:
        tokenizer = DemoTokenizer.train(texts, languages, vocabulary)
    return Start.fresh(tokenizer, with_rows(old, old_tokenizer, tokenizer))


def from_scratch(languages: Sequence[str], texts: Iterable[str], shape: Shape) -> Start:
    """Return a start with random weights; the shape's vocabulary is that without placeholders."""
    tokenizer = DemoTokenizer.train(texts, languages, shape.vocabulary)
    return Start.fresh(tokenizer, Llama(Shape(rows_of(tokenizer), shape.width, shape.layers, shape.inner)))


def rows_of(tokenizer: DemoTokenizer) -> int:
    """Return the number of the embedding's rows for a tokenizer."""
    return -(-tokenizer.bpe.get_vocab_size() // ROWS_STEP) * ROWS_STEP


@torch.no_grad()
def with_rows(old: Llama, old_tokenizer: DemoTokenizer, tokenizer: DemoTokenizer) -> Llama:
    """Return the network with an embedding for another tokenizer.

    New tokens start at random around the mean of all rows, PART as SEPARATOR.
    """
    model = Llama(Shape(rows_of(tokenizer), old.shape.width, old.shape.layers, old.shape.inner))
    name = "embed_tokens.weight"
    model.load_state_dict({key: value for key, value in old.state_dict().items() if key != name}, strict=False)
    embedding, stored = model.embed_tokens.weight, old.embed_tokens.weight
    embedding.copy_(torch.randn_like(embedding) * stored.std(dim=0) + stored.mean(dim=0))
    numbers = old_tokenizer.bpe.get_vocab()
    for token, number in tokenizer.bpe.get_vocab().items():
        old_number = numbers.get(SEPARATOR if token == PART else token)
        if old_number is not None and old_number < len(stored):
            embedding[number] = stored[old_number]
    if old_tokenizer.id(PART) < len(stored):
        embedding[tokenizer.id(PART)] = stored[old_tokenizer.id(PART)]
    return model
