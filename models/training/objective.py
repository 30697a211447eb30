"""The loss of a batch, and its mean over many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from models.llama import Llama
from models.training.batches import IGNORED, Batch

# The output layer computes only the answers' positions, rounded up to this, for a few shapes only.
PLACES_STEP = 512


@dataclass(frozen=True)
class Objective:
    """The loss of the answers' tokens, in mixed precision."""

    device: torch.device

    def loss(self, model: Llama, batch: Batch, smoothing: float) -> tuple[Tensor, int]:
        """Return the mean loss of the answers' tokens, and their number."""
        ids, labels = batch.tensors(self.device)
        targets = labels.view(-1)
        places = (targets != IGNORED).nonzero().squeeze(1)
        count = places.numel()
        padding = -count % PLACES_STEP
        padded_targets = functional.pad(targets[places], (0, padding), value=IGNORED)
        with torch.autocast(self.device.type, torch.bfloat16):
            hidden = model(ids).reshape(-1, model.shape.width)
            scores = model.scores(hidden[functional.pad(places, (0, padding))])
        return functional.cross_entropy(scores.float(), padded_targets, label_smoothing=smoothing), count

    @torch.no_grad()
    def validate(self, model: Llama, batches: Iterable[Batch]) -> float:
        """Return the mean loss per token, without smoothing."""
        model.eval()
        mean = Mean()
        for batch in batches:
            mean.add(*self.loss(model, batch, smoothing=0.0))
        model.train()
        return mean.take()


@dataclass
class Mean:
    """A running mean, weighted by tokens."""

    total: float = 0.0
    tokens: int = 0

    def add(self, value: Tensor, tokens: int) -> None:
        """Add the mean of a number of tokens."""
        self.total += float(value.detach()) * tokens
        self.tokens += tokens

    def take(self) -> float:
        """Return the mean and reset it."""
        mean = self.total / max(1, self.tokens)
        self.total, self.tokens = 0.0, 0
        return mean
