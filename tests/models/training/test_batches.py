"""Training examples of both directions, in batches of a few fixed shapes."""

from __future__ import annotations

import torch

from models.tokenizer import PART, SEPARATOR, DemoTokenizer
from models.training.batches import IGNORED, Batch, Example, both_directions, in_order, shuffled
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
