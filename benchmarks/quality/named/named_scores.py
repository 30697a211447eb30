"""What translations kept of names and numbers, and whether those that lost some say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.harness.report import NONE
from benchmarks.quality.named.named_sentences import Lost, NamedSentence
from benchmarks.quality.systems import WITHOUT, Output, System
from shared.languages import LanguagePair

NAMED_COLUMNS: Final = (
    *("direction", "guards", "sentences", "names kept", "numbers kept", "lost by notation alone"),
    *("wrong texts", "of them with a warning", "right with a warning", "no output"),
)


@dataclass(frozen=True)
class WrongText:
    """Text with a lost name or number, or with one too many."""

    text: str
    output: str
    names: Sequence[str]
    numbers: Sequence[str]
    added: Sequence[str]
    notation: Sequence[str]
    warnings: Sequence[str]


@dataclass(frozen=True)
class NamedScore:
    """Names and numbers that one system kept in one direction."""

    direction: str
    system: str
    sentences: int
    names: int
    names_kept: int
    numbers: int
    numbers_kept: int
    notation: int
    right_warned: int
    without_output: int
    wrong: Sequence[WrongText]

    @property
    def wrong_warned(self) -> int:
        """Return how many of the wrong texts have a warning."""
        return sum(bool(each.warnings) for each in self.wrong)

    def row(self) -> tuple[str, ...]:
        """Return the cells of :data:`NAMED_COLUMNS`."""
        guarded = self.system != WITHOUT
        warned = share(self.wrong_warned, len(self.wrong)) if guarded else NONE
        counts = (str(self.right_warned), str(self.without_output)) if guarded else (NONE, NONE)
        kept = share(self.names_kept, self.names), share(self.numbers_kept, self.numbers)
        wrong = str(self.notation), str(len(self.wrong))
        return (self.direction, self.system, str(self.sentences), *kept, *wrong, warned, *counts)


def share(part: int, whole: int) -> str:
    """Return a share in percent, and of what."""
    return f"{100 * part / whole:.1f} % of {whole}" if whole else NONE


async def score_named(system: System, pair: LanguagePair, sentences: Sequence[NamedSentence]) -> NamedScore:
    """Translate the sentences and count."""
    outputs = await system.answers(pair, [sentence.text for sentence in sentences])
    return judge(system.name, pair, sentences, outputs)


def judge(name: str, pair: LanguagePair, sentences: Sequence[NamedSentence], outputs: Sequence[Output]) -> NamedScore:
    """Count what the outputs kept; a text without output lost all, but it is not wrong: nobody can be misled by it."""
    losses = [
        sentence.lost_in(output.text or "", pair.target) for sentence, output in zip(sentences, outputs, strict=True)
    ]
    shown = [row for row in zip(sentences, outputs, losses, strict=True) if row[1].text is not None]
    names, numbers = (sum(len(getattr(each, items)) for each in sentences) for items in ("names", "numbers"))
    return NamedScore(
        direction=str(pair),
        system=name,
        sentences=len(sentences),
        names=names,
        names_kept=names - sum(len(lost.names) for lost in losses),
        numbers=numbers,
        numbers_kept=numbers - sum(len(lost.numbers) for lost in losses),
        notation=sum(len(lost.notation) for lost in losses),
        right_warned=sum(bool(output.faults) for _, output, lost in shown if not any(lost)),
        without_output=len(sentences) - len(shown),
        wrong=[_wrong(sentence, output, lost) for sentence, output, lost in shown if any(lost)],
    )


def _wrong(sentence: NamedSentence, output: Output, lost: Lost) -> WrongText:
    return WrongText(sentence.text, output.text or "", *lost, output.faults)
