"""Sentence pairs from files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

DEFAULT_SOURCE = "tatoeba"


class Pair(NamedTuple):
    """One sentence in English and in the other language."""

    english: str
    other: str
    language: str = ""  # of ``other``
    source: str = DEFAULT_SOURCE


def read_pairs(file: Path, language: str = "") -> list[Pair]:
    """Return the pairs of a UTF-8 file of ``english<TAB>other[<TAB>source]`` lines.

    Raises:
        ValueError: the file cannot be read, is not UTF-8, or has no pair.
    """
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise ValueError(f"cannot read {file}: {error.strerror}") from error
    rows = (line.split("\t") for line in lines)
    pairs = [
        Pair(row[0], row[1], language, row[2] if len(row) > 2 else DEFAULT_SOURCE)
        for row in rows
        if len(row) > 1 and row[0] and row[1]
    ]
    if not pairs:
        raise ValueError(f"{file} has no line of english<TAB>other")
    return pairs
