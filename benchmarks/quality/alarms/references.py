"""References: right translations, by direction, and the options of the programs that read them."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.quality.alarms.name_words import SKIPPED, is_held_out
from shared.languages import LanguagePair

SEED: Final = 1
ROUNDS: Final = 5
MICROSECOND: Final = 1e6


class Rows(NamedTuple):
    """Sentences of a file, and their source's name."""

    direction: str
    pairs: Sequence[tuple[str, str]]


def read_rows(file: Path, limit: int) -> Iterator[Rows]:
    """Yield both directions; of a file with sources only lines that no list was made from."""
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    has_sources = len(lines[0]) > 2
    held_out = [line for number, line in enumerate(lines) if not has_sources or is_held_out(number)]
    rows = [(line[0], line[1]) for line in held_out if not has_sources or line[2] not in SKIPPED]
    if len(rows) > limit:
        rows = random.Random(SEED).sample(rows, limit)  # noqa: S311 - a sample
    english, other = file.name.split(".")[0].split("-")
    yield Rows(f"{english}-{other}", rows)
    yield Rows(f"{other}-{english}", [(second, first) for first, second in rows])


def pair_of(direction: str) -> LanguagePair:
    """Return the pair of a direction such as en-de."""
    return LanguagePair(*direction.split("-"))


def parse_options(description: str | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, help="files of english<TAB>other lines")
    parser.add_argument("--limit", type=int, default=1000, help="lines of each file, chosen by chance")
    parser.add_argument("--examples", type=int, default=0, help="false alarms and misses to print of each direction")
    return parser.parse_args()
