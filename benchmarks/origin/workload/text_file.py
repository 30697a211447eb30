"""The run's texts as they lie in their file, and what they were chosen for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from benchmarks.origin.workload.candidate_texts import UNIFORM

# Uniform texts of the pair's other direction, and both directions by turns: two engines' load, one for each.
REVERSE: Final = "reverse"
BOTH: Final = "both"


@dataclass(frozen=True)
class OriginText:
    """One text and the engine requests that it is: prompts and the most tokens each answer may have."""

    kind: str
    source: str
    target: str
    text: str
    asks: list[tuple[list[int], int]]


@dataclass(frozen=True)
class TextSpec:
    """What the file is for; ``uniform`` and ``mixed`` are the seconds of full load that its texts must last."""

    model: str
    pairs: str
    seed: int
    uniform: float
    mixed: float

    def covers(self, other: TextSpec) -> bool:
        """Say whether texts chosen for this will do for another."""
        same = (self.model, self.pairs, self.seed) == (other.model, other.pairs, other.seed)
        return same and self.uniform >= other.uniform and self.mixed >= other.mixed


def text_spec(entry: ModelEntry, pairs: Path, seed: int, uniform: float, mixed: float) -> TextSpec:
    """Return what is wanted; the file of sentences by its content, the model by its entry and its files' sizes."""
    folder = Path(entry.path)
    files = sorted((file.name, file.stat().st_size) for file in folder.iterdir()) if folder.is_dir() else entry.path
    model = json.dumps([entry.model_dump(mode="json", exclude={"path"}), files], sort_keys=True, default=str)
    digests = [hashlib.sha256(content).hexdigest() for content in (model.encode(), pairs.read_bytes())]
    return TextSpec(digests[0], digests[1], seed, uniform, mixed)


def header(file: Path) -> TextSpec | None:
    """Return what a file's texts were chosen for; None where there is no such file."""
    if not file.is_file():
        return None
    with file.open(encoding="utf-8") as lines:
        return TextSpec(**json.loads(next(lines)))


def write_answered_by(tokens: int, file: Path, out: Path) -> None:
    """Write a file's texts anew, each answer of exactly so many tokens."""
    with file.open(encoding="utf-8") as lines, out.open("w", encoding="utf-8") as written:
        written.write(next(lines))
        for line in lines:
            row = OriginText(**json.loads(line))
            asks = [(ids, tokens) for ids, _ in row.asks]
            written.write(json.dumps(asdict(replace(row, asks=asks)), ensure_ascii=False) + "\n")


def read(file: Path) -> list[OriginText]:
    """Return the texts of a file."""
    with file.open(encoding="utf-8") as lines:
        next(lines)
        return [OriginText(**json.loads(line)) for line in lines]


class TextPool:
    """All texts of the run by kind."""

    def __init__(self, rows: Sequence[OriginText]) -> None:
        self._kinds: dict[str, list[OriginText]] = {}
        for row in rows:
            self._kinds.setdefault(row.kind, []).append(row)

    def texts(self, kind: str, first: int) -> Iterator[OriginText]:
        """Yield the texts of a kind from one on; after the last the first again."""
        if kind == BOTH:
            here, there = self.texts(UNIFORM, first), self.texts(REVERSE, first // 2)
            while True:
                yield next(here)
                yield next(there)
        rows = self._kinds[kind]
        number = first
        while True:
            yield rows[number % len(rows)]
            number += 1

    def size(self, kind: str) -> int:
        """Return how many texts there are before one comes again."""
        return len(self._kinds[UNIFORM if kind == BOTH else kind])
