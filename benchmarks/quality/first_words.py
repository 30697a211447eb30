"""First words: what people type first, and whether an answer is one that a speaker would accept.

``first_words.tsv``: known or new<TAB>English<TAB>answers in German<TAB>French<TAB>Spanish. Known: it is a row of the
phrasebook files that training reads; new: it is in neither. "|" separates answers, ``[a/b]`` is one of several wordings.
Case, punctuation and the kind of an apostrophe do not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.quality.systems import System
from models.training.held_out import words_of
from shared.languages import LanguagePair

FILE: Final = Path(__file__).with_suffix(".tsv")
KNOWN: Final = "known"
NEW: Final = "new"
LANGUAGES: Final = ("de", "fr", "es")
FIRST_WORD_COLUMNS: Final = ("direction", "known, right", "new, right", "known in lower case", "new in lower case")
_WORDINGS: Final = re.compile(r"\[([^\]]*)\]")
_APOSTROPHES: Final = str.maketrans("’ʼ`´", "''''")
_PUNCTUATION: Final = re.compile(r"[^\w\s'-]")
_LAST_SIGN: Final = re.compile(r"[.!?]$")


class FirstWord(NamedTuple):
    """Short text with its right answers by language, in plain form."""

    kind: str
    english: str
    answers: dict[str, frozenset[str]]

    def in_lower_case(self) -> str:
        """Return the text as many people type it: in lower case, without its last sign."""
        return _LAST_SIGN.sub("", self.english.lower())

    def is_right(self, answer: str, language: str) -> bool:
        """Return whether an answer is one of the right ones."""
        return plain(answer) in self.answers[language]


class WrongAnswer(NamedTuple):
    """Text with an answer that is none of the right ones."""

    kind: str
    text: str
    answer: str


@dataclass(frozen=True)
class FirstWordScore:
    """Right answers of a direction, of how many: by kind, as written and in lower case."""

    direction: str
    texts: dict[str, int]
    right: dict[str, int]
    right_in_lower_case: dict[str, int]
    wrong: Sequence[WrongAnswer]

    def row(self) -> tuple[str, ...]:
        """Return the cells of :data:`FIRST_WORD_COLUMNS`."""
        counts = [(each[kind], kind) for each in (self.right, self.right_in_lower_case) for kind in (KNOWN, NEW)]
        return (self.direction, *(f"{count} of {self.texts[kind]}" for count, kind in counts))


def read_first_words(file: Path = FILE) -> list[FirstWord]:
    """Return the first words in the order of the file."""
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return [
        FirstWord(kind, english, {language: wordings(cell) for language, cell in zip(LANGUAGES, cells, strict=True)})
        for kind, english, *cells in rows
    ]


def wordings(cell: str) -> frozenset[str]:
    """Return every answer of a cell, in plain form."""
    answers: set[str] = set()
    for answer in cell.split("|"):
        parts = [part.split("/") if number % 2 else [part] for number, part in enumerate(_WORDINGS.split(answer))]
        answers |= {plain("".join(chosen)) for chosen in product(*parts)}
    return frozenset(answers)


def plain(text: str) -> str:
    """Return a text without case and punctuation, but for apostrophes and hyphens inside it."""
    straight = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    return " ".join(_PUNCTUATION.sub(" ", straight).casefold().split())


def misplaced(words: Iterable[FirstWord], phrasebook: Iterable[str]) -> list[str]:
    """Return the texts that the phrasebook's English sides have although they are new, or lack although known."""
    known = {words_of(english) for english in phrasebook}
    return [word.english for word in words if (words_of(word.english) in known) != (word.kind == KNOWN)]


async def score_first_words(system: System, pair: LanguagePair, words: Sequence[FirstWord]) -> FirstWordScore:
    """Translate each text as written and in lower case, and count the right answers."""
    written = await system.answers(pair, [word.english for word in words])
    lower = await system.answers(pair, [word.in_lower_case() for word in words])
    rows = [
        *((word, word.english, output.text or "") for word, output in zip(words, written, strict=True)),
        *((word, word.in_lower_case(), output.text or "") for word, output in zip(words, lower, strict=True)),
    ]
    judged = [(word, text, answer, word.is_right(answer, pair.target)) for word, text, answer in rows]
    return FirstWordScore(
        direction=str(pair),
        texts=_count(word.kind for word in words),
        right=_count(word.kind for word, _, _, right in judged[: len(words)] if right),
        right_in_lower_case=_count(word.kind for word, _, _, right in judged[len(words) :] if right),
        wrong=[WrongAnswer(word.kind, text, answer) for word, text, answer, right in judged if not right],
    )


def _count(kinds: Iterable[str]) -> dict[str, int]:
    found = list(kinds)
    return {kind: found.count(kind) for kind in (KNOWN, NEW)}
