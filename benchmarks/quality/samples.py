"""Sentences of a direction: Tatoeba's validation files, and held-out ones of longer and more formal sources."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from models.corpus import Pair, read_pairs
from shared.languages import LanguagePair

TATOEBA: Final = "Tatoeba"


def other_language(pair: LanguagePair) -> str:
    """Return the side that is not English; ValueError if neither or both are."""
    if (pair.source == "en") == (pair.target == "en"):
        raise ValueError(f"{pair} is measured with no file: they have English and one other language")
    return pair.target if pair.source == "en" else pair.source


def tatoeba(folder: Path, pair: LanguagePair, limit: int) -> list[Pair]:
    """Return the first pairs of en-XX.valid.tsv."""
    return read_pairs(folder / f"en-{other_language(pair)}.valid.tsv")[:limit]
