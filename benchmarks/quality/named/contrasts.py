"""Sentences in which one word changes the sense: weekdays, months, negations, names, numbers.

``contrasts.tsv``: sentence<TAB>language<TAB>names<TAB>numbers<TAB>weekdays and months<TAB>"not" if it is negated. Each goes into
every other language with English on one side. The judge shares no code with the guards.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.harness.report import NONE
from benchmarks.quality.named.named_scores import share
from benchmarks.quality.named.named_sentences import NamedSentence, items
from benchmarks.quality.systems import Output, System
from shared.languages import LanguagePair

FILE: Final = Path(__file__).with_suffix(".tsv")
NEGATED: Final = "not"
CONTRAST_COLUMNS: Final = (
    *("direction", "guards", "sentences", "weekdays and months kept", "wrong texts"),
    *("of them with a warning", "right with a warning"),
)
_KEYS: Final = [
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "sat",
    "sun",
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
# Each stands for its value whatever follows it in the word: Mondays, montags, Freitagabend, sábados.
_BEGINNINGS: Final = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday "
    "January February March April May June July August September October November December",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag|Sonnabend Sonntag "
    "Januar|Jänner Februar|Feber März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche "
    "janvier février mars avril mai juin juillet août|aout septembre octobre novembre décembre",
    "es": "lunes martes miércoles jueves viernes sábado domingo "
    "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre",
}
# "may" is a verb, "mai" the beginning of "maison".
_WHOLE: Final = frozenset({"may", "mar"})
_NEGATIONS: Final = {
    "en": r"not|\w+n['’]t|cannot|never|no|nobody|nothing|none|neither|nor|without|nowhere|unable",
    "de": r"nicht|kein\w*|nie|niemals|nichts|niemand\w*|ohne|weder|nirgend\w*",
    "fr": r"ne|n(?=['’])|pas|jamais|rien|aucune?|sans|ni|non",
    "es": r"no|nunca|jamás|nada|nadie|ning[uú]n\w*|sin|ni|tampoco",
}


class ContrastSentence(NamedTuple):
    """Sentence with what a translation must keep."""

    language: str
    named: NamedSentence
    calendar: frozenset[str]
    negated: bool

    def faults_in(self, translation: str, language: str) -> list[str]:
        """Return what a translation into the language lost, and what it added."""
        lost = self.named.lost_in(translation, language)
        changed = self.calendar ^ calendar_of(translation, language)
        negation = ["negation"] if is_negated(translation, language) != self.negated else []
        return [*lost.names, *lost.numbers, *lost.added, *sorted(changed), *negation]


class WrongContrast(NamedTuple):
    """Text with a wrong answer, what is wrong in it, and its warnings."""

    text: str
    output: str
    faults: Sequence[str]
    warnings: Sequence[str]


@dataclass(frozen=True)
class ContrastScore:
    """What one system kept in one direction."""

    direction: str
    system: str
    sentences: int
    calendar: int
    calendar_kept: int
    right_warned: int
    wrong: Sequence[WrongContrast]

    def row(self) -> tuple[str, ...]:
        """Return the cells of :data:`CONTRAST_COLUMNS`."""
        admitted = sum(bool(each.warnings) for each in self.wrong)
        kept = share(self.calendar_kept, self.calendar)
        warned = f"{admitted} of {len(self.wrong)}" if self.wrong else NONE
        return (
            self.direction,
            self.system,
            str(self.sentences),
            kept,
            str(len(self.wrong)),
            warned,
            str(self.right_warned),
        )


def read_contrasts(file: Path = FILE) -> list[ContrastSentence]:
    """Return the sentences in the order of the file."""
    rows = (unicodedata.normalize("NFC", line).split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return [
        ContrastSentence(
            language,
            NamedSentence(text, items(names), items(numbers)),
            frozenset(items(calendar)),
            negation == NEGATED,
        )
        for text, language, names, numbers, calendar, negation in rows
    ]


def calendar_of(text: str, language: str) -> frozenset[str]:
    """Return the weekdays and months of a text, by their keys."""
    found: set[str] = set()
    for key, names in zip(_KEYS, _BEGINNINGS[language].split(), strict=True):
        end = r"(?!\w)" if key in _WHOLE else ""
        flags = re.NOFLAG if language == "en" else re.IGNORECASE
        if re.search(rf"(?<!\w)(?:{names}){end}", text, flags):
            found.add(key)
    return frozenset(found)


def is_negated(text: str, language: str) -> bool:
    """Return whether a text has a word of negation."""
    return re.search(rf"(?<!\w)(?:{_NEGATIONS[language]})(?!\w)", text, re.IGNORECASE) is not None


async def score_contrasts(system: System, pair: LanguagePair, sentences: Sequence[ContrastSentence]) -> ContrastScore:
    """Translate the sentences of the pair's source and judge; a text without output is not wrong."""
    chosen = [sentence for sentence in sentences if sentence.language == pair.source]
    outputs = await system.answers(pair, [sentence.named.text for sentence in chosen])
    rows = list(zip(chosen, outputs, strict=True))
    faults = [sentence.faults_in(output.text or "", pair.target) for sentence, output in rows]
    shown = [(row, wrong) for row, wrong in zip(rows, faults, strict=True) if row[1].text is not None]
    kept = (sentence.calendar & calendar_of(output.text or "", pair.target) for sentence, output in rows)
    return ContrastScore(
        direction=str(pair),
        system=system.name,
        sentences=len(chosen),
        calendar=sum(len(sentence.calendar) for sentence in chosen),
        calendar_kept=sum(map(len, kept)),
        right_warned=sum(bool(output.faults) for (_, output), wrong in shown if not wrong),
        wrong=[_wrong(sentence, output, wrong) for (sentence, output), wrong in shown if wrong],
    )


def _wrong(sentence: ContrastSentence, output: Output, faults: Sequence[str]) -> WrongContrast:
    return WrongContrast(sentence.named.text, output.text or "", faults, output.faults)
