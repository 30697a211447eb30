"""The recipe, and the pairs that are held out of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from models.corpus import Pair
from models.training.held_out import SYNTHETIC, cleared, draw
from models.training.recipe import Recipe, Shares, read_recipe
from tests.models.samples import pairs, seeded


def refused(tmp_path: Path, content: str) -> str:
    file = tmp_path / "recipe.toml"
    file.write_text(content)
    with pytest.raises(ValueError, match=r"recipe\.toml") as caught:
        read_recipe(file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("weights", ["cannot read the recipe"]),
        ("[wieghts]\ntatoeba = 1", ["unknown table wieghts", "weights and shares"]),
        ("weights = 3", ["weights must be a table"]),
        ("[weights]\ntatoeba = -1", ["weights.tatoeba is -1", "from 0 to 100"]),
        ("[weights]\ntatoeba = nan", ["weights.tatoeba is nan"]),
        ("[weights]\ntatoeba = true", ["weights.tatoeba is True"]),
        ("[weights]\ntatoeba = 'much'", ["weights.tatoeba is 'much'"]),
        ("[shares]\nswapped = 1.5", ["shares.swapped is 1.5", "from 0 to 1"]),
        ("[shares]\nswaped = 0.5", ["shares has no key swaped"]),
    ],
)
def test_wrong_recipe_is_refused(tmp_path: Path, content: str, words: list[str]) -> None:
    message = refused(tmp_path, content)
    assert all(word in message for word in words), message


def test_missing_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot read the recipe"):
        read_recipe(tmp_path / "absent.toml")


def test_projects_recipe_is_readable() -> None:
    recipe = read_recipe(Path("models/recipe.toml"))
    assert recipe.weights["tatoeba"] > 1
    assert recipe.shares.prefixes == 0.1


def test_sources_are_sampled_by_weight() -> None:
    rows = pairs(1000) + pairs(1000, "pawsx") + pairs(1000, "manual") + pairs(1000, "none")
    recipe = Recipe({"pawsx": 2.5, "manual": 0.25, "none": 0.0}, Shares())
    counts = Counter(pair.source for pair in recipe.sample(rows, seeded(0)))
    assert counts["tatoeba"] == 1000
    assert counts["pawsx"] == pytest.approx(2500, abs=80)
    assert counts["manual"] == pytest.approx(250, abs=60)
    assert "none" not in counts


def test_every_epoch_is_another_sample() -> None:
    recipe, rng = Recipe({"tatoeba": 0.5}), seeded(0)
    assert recipe.sample(pairs(100), rng) != recipe.sample(pairs(100), rng)


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
