"""Samples: texts with their signals and chrF, as the whole pipeline gives them."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sacrebleu.metrics.chrf import CHRF
from typing_extensions import override

from apiserver.catalog.calibration import GOOD_CHRF, Calibration, Signals
from benchmarks.calibration.regression import Sample
from benchmarks.harness.engine import LocalModel, TextRequest
from models.corpus import read_pairs
from shared.languages import LanguagePair
from shared.protocol.answers import Translation

# Signals of the text that the current task translates.
_RECORDED: Final[ContextVar[list[Signals]]] = ContextVar("recorded")


class Recorder(Calibration):
    """Calibration that records the signals it is shown, and gives 1: only issues lower that."""

    @override
    def probability(self, signals: Signals) -> float:
        _RECORDED.get().append(signals)
        return 1.0


RECORDER: Final = Recorder(constant=0.0, mean=0.0, length=0.0)


@dataclass(frozen=True)
class Measured:
    """One translated text.

    ``signals`` are of each output requested for it; ``factor`` is what its issues leave of the confidence.
    """

    signals: Sequence[Signals]
    factor: float
    chrf: float

    @property
    def is_good(self) -> bool:
        """Whether the translation counts as good."""
        return self.chrf >= GOOD_CHRF

    @property
    def sample(self) -> Sample | None:
        """The sample to fit, from a text of one output without issues."""
        is_plain = len(self.signals) == 1 and self.factor == 1
        return Sample(self.signals[0], self.is_good) if is_plain else None


def read_sides(folder: Path, pair: LanguagePair, limit: int) -> tuple[list[str], list[str]] | None:
    """Return a direction's sources and references from SOURCE-TARGET.valid.tsv or its reverse, or None."""
    for first, last in ((pair.source, pair.target), (pair.target, pair.source)):
        path = folder / f"{first}-{last}.valid.tsv"
        if path.is_file():
            rows = read_pairs(path)[:limit]
            sides = [row.english for row in rows], [row.other for row in rows]
            return sides if first == pair.source else (sides[1], sides[0])
    return None


async def measure(
    model: LocalModel, pair: LanguagePair, sources: Sequence[str], references: Sequence[str]
) -> list[Measured]:
    """Translate every text with the pipeline; ``model`` must have the recorder."""
    recorded: list[list[Signals]] = [[] for _ in sources]

    def prepare(index: int) -> None:
        _RECORDED.set(recorded[index])

    texts = [TextRequest(source, confidence=True) for source in sources]
    answers = await model.translate(pair, texts, prepare)
    metric = CHRF()
    return [
        Measured(signals, answer.confidence or 0.0, _chrf(metric, answer, reference))
        for signals, answer, reference in zip(recorded, answers, references, strict=True)
    ]


def _chrf(metric: CHRF, answer: Translation, reference: str) -> float:
    return metric.sentence_score(answer.translation or "", [reference]).score
