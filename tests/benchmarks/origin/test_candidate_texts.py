"""Candidate texts: uniform and mixed ones."""

from __future__ import annotations

import itertools
import math

import pytest

from benchmarks.origin.workload.candidate_texts import (
    MIXED_TOKENS,
    UNIFORM_TOKENS,
    Sentence,
    joined,
    mixed,
)

SENTENCES = [
    f"{who} {' '.join(['really'] * long)} saw it {when}."
    for who in ("We", "They")
    for long in range(4, 20)
    for when in "abcd"
]


def words(text: str) -> int:
    return len(text.split())


def test_uniform_texts_are_new_and_of_one_length() -> None:
    found = list(itertools.islice(joined(SENTENCES, "and", words, "1"), 100))
    assert len({unit.text for unit in found}) == 100
    assert all(UNIFORM_TOKENS[0] <= words(unit.text) == unit.tokens <= UNIFORM_TOKENS[1] for unit in found)
    assert found == list(itertools.islice(joined(SENTENCES, "and", words, "1"), 100))


def test_uniform_texts_end() -> None:
    assert list(joined(["Too short."], "and", words, "1")) == []


def test_mixed_texts_have_all_lengths_and_no_repeats() -> None:
    units = [
        Sentence(f"{number} {'x ' * (tokens - 2)}.", tokens)
        for number, tokens in enumerate([8, 12, 16, 20, 24, 30, 31] * 30)
    ]
    texts = list(itertools.islice(mixed(units, "1"), 320))
    assert len(set(texts)) == 320
    lengths = sorted(map(words, texts))
    assert lengths[0] < 2 * MIXED_TOKENS[0]
    assert lengths[-1] > 0.8 * MIXED_TOKENS[1]
    assert lengths[160] == pytest.approx(math.sqrt(MIXED_TOKENS[0] * MIXED_TOKENS[1]), rel=0.25)
    known = {unit.text for unit in units}
    for text in texts:
        answer_text = [f"{sentence.strip()} ." for sentence in text.split(".") if sentence]
        assert len(answer_text) == len(set(answer_text))
        assert {sentence.replace(" .", " .") for sentence in answer_text} <= {text.strip() for text in known}
