"""The recipe: how often each source is read, and how much is varied."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from models.corpus import Pair

MAX_WEIGHT = 100.0


@dataclass(frozen=True)
class Shares:
    """Shares of the examples, 0 to 1, that are varied in each way."""

    swapped: float = 0.0  # other names, numbers, weekdays and months
    ampersands: float = 0.0  # of those that say "and" once on both sides: "&" in its place
    bare: float = 0.0  # of short sentences: no full stop at the end, as people type
    lower: float = 0.0  # of short texts: typed in lower case and without a full stop
    joined: float = 0.0  # two or three sentences of one source
    placeholders: float = 0.0  # tags, names and numbers as placeholders
    prefixes: float = 0.0  # a beginning of the text, and of its translation


@dataclass(frozen=True)
class Recipe:
    """Weights of sources (1: each pair once in an epoch) and shares of variations."""

    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    shares: Shares = field(default_factory=Shares)

    def sample(self, pairs: Sequence[Pair], rng: random.Random) -> list[Pair]:
        """Return one epoch's pairs in random order; a part of a weight is drawn."""
        chosen: list[Pair] = []
        for pair in pairs:
            whole, part = divmod(self.weights.get(pair.source, 1.0), 1.0)
            chosen += [pair] * (int(whole) + (rng.random() < part))
        rng.shuffle(chosen)
        return chosen


def read_recipe(file: Path) -> Recipe:
    """Return the recipe in a TOML file with the tables ``weights`` and ``shares``.

    Raises:
        ValueError: the file cannot be read, or has an unknown key or a number out of range.
    """
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"cannot read the recipe {file}: {error}") from error
    if unknown := content.keys() - {"weights", "shares"}:
        raise ValueError(f"{file}: unknown table {min(unknown)}; a recipe has weights and shares")
    shares = numbers(file, content, "shares", 1.0)
    if unknown := shares.keys() - {each.name for each in fields(Shares)}:
        raise ValueError(f"{file}: shares has no key {min(unknown)}")
    return Recipe(numbers(file, content, "weights", MAX_WEIGHT), Shares(**shares))


def numbers(file: Path, content: Mapping[str, object], table: str, largest: float) -> dict[str, float]:
    """Return a table of numbers from 0 to ``largest``; raise ValueError for others."""
    rows = content.get(table, {})
    if not isinstance(rows, dict):
        raise ValueError(f"{file}: {table} must be a table")  # noqa: TRY004 - the file is wrong, not the caller
    checked: dict[str, float] = {}
    for key, value in rows.items():  # pyright: ignore[reportUnknownVariableType] - TOML has any type
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= largest:
            raise ValueError(f"{file}: {table}.{key} is {value!r}; expected a number from 0 to {largest:g}")
        checked[str(key)] = float(value)  # pyright: ignore[reportUnknownArgumentType] - the same
    return checked
