"""Sentences with names and numbers, each with what a translation must keep, and whether it does.

``SOURCE-TARGET.tsv``: sentence<TAB>names<TAB>numbers, items separated by ";", alternatives of an item by "|".
Names stand as the target writes them; the notation of numbers is that of ``number_forms``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.quality.named.number_forms import number_pattern

FOLDER: Final = Path(__file__).parent
# Taken for what was found, so that nothing is found twice: no letter, digit or space.
_FOUND: Final = "\u2400"
_GENITIVE: Final = {"de": "(?:['’]?s|['’])?", "en": "(?:['’]s?)?", "fr": "", "es": ""}


class Lost(NamedTuple):
    """What a translation lacks, and numbers in digits that it has too many.

    ``notation``: those of the numbers that it has in the notation of another language, such as 2.5 in German.
    """

    names: Sequence[str]
    numbers: Sequence[str]
    added: Sequence[str]
    notation: Sequence[str] = ()


@dataclass(frozen=True)
class NamedSentence:
    """Sentence with the names and numbers that a translation must keep."""

    text: str
    names: Sequence[str]
    numbers: Sequence[str]

    def lost_in(self, translation: str, language: str) -> Lost:
        """Return what a translation into the language lost and added."""
        left = unicodedata.normalize("NFC", translation)
        names, left = _without(left, [(name, _name_pattern(name, language)) for name in self.names])
        numbers, left = _without(left, [(number, number_pattern(number, language)) for number in self.numbers])
        foreign = [(number, number_pattern(number, "de" if language == "en" else "en")) for number in numbers]
        lost, left = _without(left, foreign)
        return Lost(names, numbers, re.findall(r"\d+", left), [number for number in numbers if number not in lost])


def read_named(direction: str, folder: Path = FOLDER) -> list[NamedSentence]:
    """Return the sentences of a direction such as en-de; none where there is no file."""
    file = folder / f"{direction}.tsv"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = (unicodedata.normalize("NFC", line).split("\t") for line in lines)
    return [NamedSentence(text, items(names), items(numbers)) for text, names, numbers in rows]


def items(field: str) -> list[str]:
    """Return what stands between the semicolons."""
    return [item.strip() for item in field.split(";") if item.strip()]


def _without(text: str, wanted: Sequence[tuple[str, re.Pattern[str]]]) -> tuple[list[str], str]:
    """Return the items that the text lacks, and the text without those that it has."""
    lost: list[str] = []
    for item, pattern in wanted:
        text, count = pattern.subn(_FOUND, text, count=1)
        lost += [] if count else [item]
    return lost, text


def _name_pattern(name: str, language: str) -> re.Pattern[str]:
    forms = (r"[\s\u00a0-]+".join(map(re.escape, form.split(" "))) for form in name.split("|"))
    return re.compile(f"(?<!\\w)(?:{'|'.join(forms)}){_GENITIVE[language]}(?!\\w)")
