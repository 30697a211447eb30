"""Hard sentence boundaries: abbreviations, times, initials, ordinals, decimals, quotations, chat.

``hard_boundaries.tsv``: language<TAB>text. "‖" stands where a sentence begins, "¦" where none does although it may seem so. They
were written before the splitter was tuned with them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from apiserver.segmentation.sentence_splitter import sentence_ends

FILE = Path(__file__).with_name("hard_boundaries.tsv")
END, INSIDE = "‖", "¦"
LANGUAGES = ("en", "de", "fr", "es", "ja", "zh", "ko")
LEAST = 0.95


class Judged(NamedTuple):
    """Text as it was split, and its numbers of right and wrong places."""

    language: str
    expected: str
    split: str
    right: int
    wrong: int


def judged() -> list[Judged]:
    """Split every text; a place is wrong if it is marked otherwise, or if it is not marked and a sentence begins there."""
    return [judge(*line.split("\t")) for line in FILE.read_text(encoding="utf-8").splitlines()]


def judge(language: str, marked: str) -> Judged:
    text, places = "", dict[int, bool]()
    for char in marked:
        if char in {END, INSIDE}:
            places[len(text)] = char == END
        else:
            text += char
    found = sentence_ends(text, language)
    right = sum((place in found) == is_end for place, is_end in places.items())
    wrong = len(places) - right + len(set(found) - places.keys())
    split = "".join(f"{END if place in found else ''}{char}" for place, char in enumerate(text))
    return Judged(language, marked, split, right, wrong)


def share(rows: list[Judged]) -> float:
    right, wrong = sum(row.right for row in rows), sum(row.wrong for row in rows)
    return right / (right + wrong)


def test_there_are_300_places() -> None:
    assert sum(line.count(END) + line.count(INSIDE) for line in FILE.read_text(encoding="utf-8").splitlines()) >= 300


@pytest.mark.parametrize("language", LANGUAGES)
def test_hard_boundaries_are_found(language: str) -> None:
    rows = [row for row in judged() if row.language == language]
    missed = [f"{row.expected}\n{row.split}" for row in rows if row.wrong]
    assert share(rows) >= LEAST, "\n\n".join(missed)
