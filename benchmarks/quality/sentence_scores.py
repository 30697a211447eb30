"""Scores against references: sentences by every system, and paragraphs beside their sentences one by one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from apiserver.catalog.calibration import GOOD_CHRF
from benchmarks.calibration.reliability import Judged, auc, calibration_error
from benchmarks.harness.report import NONE
from benchmarks.quality.bootstrap import ChrfSample, Interval, chrf_sample
from benchmarks.quality.systems import WITHOUT, Output, System
from models.corpus import Pair
from shared.languages import LanguagePair

PARAGRAPH_SEED: Final = 5
PARAGRAPH_SENTENCES: Final = (3, 10)
SENTENCE_COLUMNS: Final = (
    *("sentences", "direction", "guards", "chrF [95 %]", "difference [95 %]", "BLEU"),
    *("empty", "looped", "echoed", "with a warning", "confidence: AUC", "its error"),
)
PARAGRAPH_COLUMNS: Final = ("direction", "paragraphs", "chrF by sentence", "chrF by paragraph", "difference [95 %]")


@dataclass(frozen=True)
class SentenceScore:
    """Scores of one system on one direction's sentences; ``difference``: of chrF, to the system without guards."""

    sentences: str
    direction: str
    system: str
    count: int
    chrf: Interval
    difference: Interval | None
    bleu: float
    empty: int
    looped: int
    echoed: int
    warned: int
    confidence_auc: float | None = None
    confidence_error: float | None = None

    def row(self) -> tuple[str, ...]:
        """Return the cells of :data:`SENTENCE_COLUMNS`."""
        difference = self.difference.signed() if self.difference else NONE
        counts = self.empty, self.looped, self.echoed
        warned = str(self.warned) if self.system != WITHOUT else NONE
        scores = f"{self.sentences}, {self.count:,}", self.direction, self.system, str(self.chrf), difference
        confidence = (
            NONE if each is None else f"{each:.{digits}f}"
            for each, digits in ((self.confidence_auc, 2), (self.confidence_error, 3))
        )
        return (*scores, f"{self.bleu:.1f}", *map(str, counts), warned, *confidence)


@dataclass(frozen=True)
class ParagraphScore:
    """chrF of paragraphs, translated whole and sentence by sentence."""

    direction: str
    paragraphs: int
    by_sentence: Interval
    by_paragraph: Interval
    difference: Interval

    def row(self) -> tuple[str, ...]:
        """Return the cells of :data:`PARAGRAPH_COLUMNS`."""
        chrf = str(self.by_sentence), str(self.by_paragraph)
        return (self.direction, str(self.paragraphs), *chrf, self.difference.signed())


def sides(pair: LanguagePair, rows: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """Return the direction's sources and references."""
    english, other = [row.english for row in rows], [row.other for row in rows]
    return (english, other) if pair.source == "en" else (other, english)


async def score_sentences(
    compared: Sequence[System], sentences: str, pair: LanguagePair, rows: Sequence[Pair]
) -> list[SentenceScore]:
    """Return each system's scores; the first is what the others are compared with."""
    sources, references = sides(pair, rows)
    scores: list[SentenceScore] = []
    first: ChrfSample | None = None
    for system in compared:
        outputs = await system.answers(pair, sources)
        sample = chrf_sample([output.text or "" for output in outputs], references)
        difference = sample.difference(first) if first else None
        first = first or sample
        judged = judge(outputs, references)
        scores.append(
            SentenceScore(
                sentences=sentences,
                direction=str(pair),
                system=system.name,
                count=len(rows),
                chrf=sample.interval,
                difference=difference,
                bleu=BLEU().corpus_score([output.text or "" for output in outputs], [references]).score,
                empty=sum(not (output.text or "").strip() for output in outputs),
                looped=sum(output.looped for output in outputs),
                echoed=sum(
                    _plain(source) == _plain(output.text or "") for source, output in zip(sources, outputs, strict=True)
                ),
                warned=sum(bool(output.faults) for output in outputs),
                confidence_auc=auc(judged) if judged else None,
                confidence_error=calibration_error(judged) if judged else None,
            )
        )
    return scores


def judge(outputs: Sequence[Output], references: Sequence[str]) -> list[Judged]:
    """Return the confidences, each with whether the text is good; texts without a confidence left out."""
    metric = CHRF()
    return [
        Judged(output.confidence, metric.sentence_score(output.text or "", [reference]).score >= GOOD_CHRF)
        for output, reference in zip(outputs, references, strict=True)
        if output.confidence is not None
    ]


async def score_paragraphs(system: System, pair: LanguagePair, rows: Sequence[Pair]) -> ParagraphScore:
    """Score paragraphs beside their sentences one by one."""
    groups = paragraphs(rows)
    flat = [row for group in groups for row in group]
    sentences = iter(await system.answers(pair, sides(pair, flat)[0]))
    one_by_one = [" ".join(next(sentences).text or "" for _ in group) for group in groups]
    whole = await system.answers(pair, [" ".join(sides(pair, group)[0]) for group in groups])
    references = [" ".join(sides(pair, group)[1]) for group in groups]
    first, second = chrf_sample(one_by_one, references), chrf_sample([each.text or "" for each in whole], references)
    return ParagraphScore(str(pair), len(groups), first.interval, second.interval, second.difference(first))


def paragraphs(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Cut the sentences into paragraphs of 3 to 10, the same ones every time."""
    rng = random.Random(PARAGRAPH_SEED)  # noqa: S311 - variety, not secrets
    fewest, most = PARAGRAPH_SENTENCES
    left, groups = list(pairs), list[list[Pair]]()
    while len(left) >= fewest:
        size = rng.randint(fewest, most)
        groups.append(left[:size])
        left = left[size:]
    return [group for group in groups if len(group) >= fewest]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
