"""Optimisers, their rates, and the average of the weights."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from models.llama import Llama, Shape
from models.training.optimisers import AVERAGE_EVERY, AveragedWeights, Optimisers, Rates


def small_model() -> Llama:
    return Llama(Shape(64, 64, 1, 64))


def test_rates_warm_up_once_and_stay() -> None:
    rates = Rates(0.01, 0.001)
    assert rates.share(0) < 0.01
    assert rates.share(149) == pytest.approx(0.5)
    assert rates.share(300) == rates.share(1_000_000) == 1.0
    assert not rates.is_over(1_000_000)


def test_decay_ends_the_run_with_a_low_rate() -> None:
    rates = Rates(0.01, 0.001, decay_from=5000, decay_steps=1000)
    assert rates.share(5000) == 1.0
    assert rates.share(5500) == pytest.approx(0.5)
    assert rates.share(5999) == pytest.approx(0.02)
    assert not rates.is_over(5999)
    assert rates.is_over(6000)


def step(model: Llama, optimisers: Optimisers) -> torch.Tensor:
    model.scores(model(torch.arange(12).view(2, 6))).square().mean().backward()  # pyright: ignore[reportUnknownMemberType] - torch's
    optimisers.step(500)
    return model.embed_tokens.weight.detach().clone()


def test_optimisers_continue_from_their_state() -> None:
    model, rates = small_model(), Rates(0.01, 0.01)
    optimisers = Optimisers(model, rates)
    step(model, optimisers)
    saved, weights = deepcopy(optimisers.state()), deepcopy(model.state_dict())
    expected = step(model, optimisers)
    model.load_state_dict(weights)
    fresh = step(model, Optimisers(model, rates))
    model.load_state_dict(weights)
    resumed = Optimisers(model, rates)
    resumed.load(saved)
    assert torch.equal(step(model, resumed), expected)
    assert not torch.allclose(fresh, expected)


def test_average_follows_the_weights() -> None:
    model = small_model()
    averaged = AveragedWeights(model)
    before = averaged.model.embed_tokens.weight.clone()
    with torch.no_grad():
        model.embed_tokens.weight += 1
    averaged.update(model, AVERAGE_EVERY + 1)
    assert torch.equal(averaged.model.embed_tokens.weight, before)
    averaged.update(model, AVERAGE_EVERY)
    assert torch.allclose(averaged.model.embed_tokens.weight, before + 0.015)
    assert not averaged.model.training
