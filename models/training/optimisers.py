"""Optimisers, their rates, and the average of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from models.llama import Llama

WARM_UP_STEPS = 300
LOWEST_RATE = 0.02
# The average covers about AVERAGE_EVERY / (1 - AVERAGE_KEPT) steps: at a constant rate it is as good as the weights
# would be after the rate's decay.
AVERAGE_EVERY, AVERAGE_KEPT = 10, 0.985


@dataclass(frozen=True)
class Rates:
    """Learning rates: warm-up, constant, and if wished a linear decay that ends the run.

    A run can be resumed many times at the constant rate, before one last run decays.
    """

    muon: float
    adam: float
    decay_from: int = 0  # the step
    decay_steps: int | None = None

    def share(self, step: int) -> float:
        """Return the rates' share at a step."""
        warm_up = min(1.0, (step + 1) / WARM_UP_STEPS)
        if self.decay_steps is None:
            return warm_up
        return min(warm_up, max(LOWEST_RATE, 1 - (step - self.decay_from) / self.decay_steps))

    def is_over(self, step: int) -> bool:
        """Return whether the decay is done."""
        return self.decay_steps is not None and step - self.decay_from >= self.decay_steps


class Optimisers:
    """Muon for the layers' matrices, AdamW for the embedding and the norms."""

    def __init__(self, model: Llama, rates: Rates) -> None:
        matrices = [weight for _, weight in model.matrices()]
        chosen = {id(weight) for weight in matrices}
        self._rest = [weight for weight in model.parameters() if id(weight) not in chosen]
        self._rates = rates
        self._muon = torch.optim.Muon(matrices, lr=rates.muon, momentum=0.95, weight_decay=0.05)
        self._adam = torch.optim.AdamW(self._rest, lr=rates.adam, betas=(0.9, 0.98), weight_decay=0.0)

    def step(self, step: int) -> None:
        """Update the weights at that step's rates; clear gradients."""
        # Only AdamW needs clipping, because Muon's steps have a fixed size.
        torch.nn.utils.clip_grad_norm_(self._rest, 1.0)
        share = self._rates.share(step)
        for optimiser, rate in ((self._muon, self._rates.muon), (self._adam, self._rates.adam)):
            for group in optimiser.param_groups:
                group["lr"] = rate * share
            optimiser.step()  # pyright: ignore[reportUnknownMemberType] - torch's
            optimiser.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"muon": self._muon.state_dict(), "adam": self._adam.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint's state."""
        self._muon.load_state_dict(state["muon"])
        self._adam.load_state_dict(state["adam"])


class AveragedWeights:
    """A running average of the weights, in a network of its own."""

    def __init__(self, model: Llama) -> None:
        self.model = Llama(model.shape)
        self.model.load_state_dict(model.state_dict())
        self.model.eval()

    @torch.no_grad()
    def update(self, model: Llama, step: int) -> None:
        """Add the weights of every AVERAGE_EVERY-th step."""
        if step % AVERAGE_EVERY == 0:
            for mean, weight in zip(self.model.parameters(), model.parameters(), strict=True):
                mean.lerp_(weight, 1 - AVERAGE_KEPT)
