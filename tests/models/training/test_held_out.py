"""Held-out pairs, and training pairs that are too similar to them."""

from __future__ import annotations

import pytest

from models.corpus import Pair
from models.training.held_out import SYNTHETIC, cleared, draw
from tests.models.samples import pairs, seeded

LONG = Pair(
    "The old bridge over the river was closed in 1998 after the flood.",
    "Die alte Brücke über den Fluss wurde 1998 nach der Flut gesperrt.",
    "de",
    "pawsx",
)


def test_same_pairs_are_drawn_in_any_order() -> None:
    rows = pairs(200, "manual")
    mixed = rows + rows[:50]
    seeded(3).shuffle(mixed)
    assert draw(rows, 20) == draw(mixed, 20)
    assert len(draw(rows, 20)) == 20


def test_drawn_pairs_are_known_by_their_texts() -> None:
    # A change of this list changes what every session measures with.
    rows = [Pair(f"Sentence number {word}.", "Satz.", "de", "manual") for word in ("one", "two", "three", "four")]
    assert [pair.english for pair in draw(rows, 2)] == ["Sentence number four.", "Sentence number one."]


def test_synthetic_pairs_are_not_drawn() -> None:
    assert draw(pairs(50, SYNTHETIC), 10) == []


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("Something else.", LONG.other),
        (LONG.english, "Etwas anderes."),
        ("the old bridge over the river was closed in 2011 after the flood", "Etwas anderes."),
        ("The bridge over the old river was closed in 1998 after the flood.", "Etwas anderes."),
        ("The old bridge over the river was closed in 1998 after the great fire.", "Etwas anderes."),
        ("Something else.", "In der Stadt: die alte Brücke über den Fluss wurde 1998 nach der Flut wieder gesperrt."),
    ],
)
def test_near_duplicates_of_either_side_are_dropped(english: str, other: str) -> None:
    assert cleared([Pair(english, other, "de")], [LONG], []) == []


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("The old house near the lake was sold in 1998 after the war.", "Das alte Haus am See wurde verkauft."),
        ("The river.", "Der Fluss."),
        ("", "Etwas."),
        ("!!!", "???"),
    ],
)
def test_other_pairs_are_kept(english: str, other: str) -> None:
    assert len(cleared([Pair(english, other, "de")], [LONG], [])) == 1


def test_validation_pairs_drop_only_equal_ones() -> None:
    valid = [Pair("Tom has 3 dogs.", "Tom hat 3 Hunde.", "de"), LONG]
    same, similar = Pair("tom has 4 dogs!", "Anders.", "de"), LONG._replace(english=f"{LONG.english} Today.", other="x")
    assert cleared([same, similar], [], valid) == [similar]
