"""The recipe: how often each source is read, and how much is varied."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

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
