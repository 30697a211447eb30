"""Sentences of a direction with their references: Tatoeba's, and held-out ones of formal sources and phrasebooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from models.corpus import Pair, read_pairs
from models.training.held_out import PHRASE_SOURCES
from shared.languages import LanguagePair

TATOEBA: Final = "Tatoeba"
# Written by ``python -m models.hold_out``; no model of a later generation learnt from them.
HELD_OUT: Final = "parallel"


class Sample(NamedTuple):
    """Pairs by their origin."""

    name: str
    pairs: list[Pair]


def has_english(pair: LanguagePair) -> bool:
    """Whether one side is English, as in every file."""
    return "en" in {pair.source, pair.target}


def other_language(pair: LanguagePair) -> str:
    """Return the side that is not English."""
    return pair.target if pair.source == "en" else pair.source


def tatoeba(folder: Path, pair: LanguagePair, limit: int) -> Sample:
    """Return the first pairs of en-XX.valid.tsv."""
    return Sample(TATOEBA, read_pairs(folder / f"en-{other_language(pair)}.valid.tsv")[:limit])


def samples(folder: Path, held_out: Path | None, pair: LanguagePair, limit: int) -> Iterator[Sample]:
    """Yield Tatoeba's pairs and, of their folder if there is one, the held-out ones of its files en-XX.NAME.tsv."""
    yield tatoeba(folder, pair, limit)
    if held_out is not None:
        # Those of phrasebooks are written by ``python -m models.phrasebook``.
        files = {HELD_OUT: "held-out", **{name: name for name in PHRASE_SOURCES}}
        for name, file_name in files.items():
            file = held_out / f"en-{other_language(pair)}.{file_name}.tsv"
            if name == HELD_OUT or file.exists():
                yield Sample(name, read_pairs(file)[:limit])
