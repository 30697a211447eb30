"""Composition: which words continue a number, and which begin another."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.words.composition import Composition
from apiserver.guards.numbers.words.lexicon import Entry, Role

SCALES = {100: Role.HUNDRED, 1000: Role.SCALE, 10**6: Role.SCALE}


def entry(value: int) -> Entry:
    return Entry(SCALES.get(value, Role.UNIT), value, ((value,),))


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ((2, 1000, 5, 100, 1), 2501),
        ((3, 100, 1000), 300_000),
        ((19, 84), 1984),
        ((2, 1000, 10**6), 2 * 10**9),
        ((1000, 2, 100, 10**6), 1200 * 10**6),
        ((100, 5), 105),
        ((2, 10**6, 3, 1000), 2_003_000),
    ],
)
def test_words_are_one_number(values: tuple[int, ...], total: int) -> None:
    composition = Composition()
    assert all(composition.take(entry(value)) for value in values)
    assert composition.value == total
    assert composition.readings()[0] == (total,)


@pytest.mark.parametrize(
    ("values", "other"), [((5,), 5), ((3,), 40), ((2, 100), 100), ((2, 1000), 1000), ((19, 84), 7)]
)
def test_word_that_begins_another_number_changes_nothing(values: tuple[int, ...], other: int) -> None:
    composition = Composition()
    assert all(composition.take(entry(value)) for value in values)
    before = composition.value
    assert not composition.take(entry(other))
    assert composition.value == before


def test_and_leaves_both_readings() -> None:
    composition = Composition()
    assert composition.take(entry(100))
    assert composition.can_join(entry(5))
    assert not composition.can_join(entry(1000))
    composition.join()
    assert composition.take(entry(5))
    assert composition.readings() == ((105,), (100, 5))


def test_scale_alone_is_weak() -> None:
    composition = Composition()
    assert composition.take(entry(1000))
    assert composition.is_weak
