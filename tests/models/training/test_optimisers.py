"""Batches, and the steps that learn from them."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from models.llama import Llama, Shape
from models.tokenizer import PART, SEPARATOR, DemoTokenizer
from models.training.batches import IGNORED, Batch, Example, both_directions, in_order, shuffled
from models.training.optimisers import AVERAGE_EVERY, AveragedWeights, Optimisers, Rates
from models.training.variation import Variant
from tests.models.samples import pairs, seeded

ROWS = pairs(40)
TOKENIZER = DemoTokenizer.train([text for row in ROWS for text in row[:2]], ["de"], 400)


def test_long_and_empty_pairs_are_left_out() -> None:
    long = ROWS[0]._replace(english="house " * 50)
    variants = [Variant(row, is_part=False) for row in (ROWS[0], long, ROWS[1]._replace(other=""))]
    assert len(both_directions(variants, TOKENIZER, 40)) == 2


def test_both_directions_of_a_pair_are_learnt() -> None:
    whole, back = both_directions([Variant(ROWS[0], is_part=False)], TOKENIZER, 40)
    assert TOKENIZER.decode(whole.answer) == ROWS[0].other
    assert TOKENIZER.decode(back.answer) == ROWS[0].english
    assert whole.prompt[1:3] == back.prompt[2:0:-1]
    assert whole.prompt[-1] == TOKENIZER.id(SEPARATOR)
    (part, _) = both_directions([Variant(ROWS[0], is_part=True)], TOKENIZER, 40)
    assert part.prompt == [*whole.prompt[:-1], TOKENIZER.id(PART)]


def test_labels_are_the_next_tokens_of_answers() -> None:
    ids, labels = Batch(8, [Example([5, 6, 7], [8, 9]), Example([5], [6])]).tensors(torch.device("cpu"))
    assert torch.equal(ids, torch.tensor([[5, 6, 7, 8, 9, 0, 0, 0], [5, 6, 0, 0, 0, 0, 0, 0]]))
    skipped = [IGNORED]
    assert torch.equal(labels, torch.tensor([[*skipped * 2, 8, 9, *skipped * 4], [6, *skipped * 7]]))


def test_validation_has_every_example_once() -> None:
    examples = [Example([1] * (number % 20 + 1), [number]) for number in range(100)]
    batches = in_order(examples, 64)
    assert sorted(example.answer[0] for batch in batches for example in batch.examples) == list(range(100))
    assert all(example.length == batch.length for batch in batches for example in batch.examples)


def test_training_batches_are_full_and_lose_nothing() -> None:
    parts = [[Example([1, 2], [part * 10 + number]) for number in range(10)] for part in range(4)]
    batches = list(shuffled(parts, 24, seeded()))
    assert {len(batch.examples) for batch in batches} == {3}
    answers = [example.answer[0] for batch in batches for example in batch.examples]
    assert len(answers) == len(set(answers)) == 39  # one waits for its batch
    assert answers != sorted(answers)


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
