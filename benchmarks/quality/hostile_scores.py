"""What becomes of hostile texts, without guards and with them, and what each guard did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.protection.placeholders import count_literals
from apiserver.translation.assembler import TRANSLATED_IN_PIECES
from benchmarks.harness.engine import LocalModel
from benchmarks.quality.hostile_texts import hostile_texts
from shared.languages import LanguagePair

HOSTILE_COLUMNS: Final = (
    *("texts", "faulty without", "in pieces", "shown with a fault", "no usable output", "literal lost"),
)
# Of what a guard caught: the metric's label and the table's heading.
GUARD_OUTCOMES: Final = {"mended": "mended", "shown": "shown with a warning", "given-up": "given up"}


def misses(answer: str, literals: Mapping[str, int]) -> bool:
    """Whether an answer lacks something that must survive literally."""
    return any(answer.count(literal) < count for literal, count in literals.items())


async def judge_hostile(
    model: LocalModel, pair: LanguagePair, sources: Sequence[str], foreign: Sequence[str], each: int
) -> dict[str, Counter[str]]:
    """Count, per kind of hostile text, the columns of :data:`HOSTILE_COLUMNS`."""
    texts = hostile_texts(sources, foreign, each)
    guard = QualityGuard(OutputLanguage())
    bare = await model.generate(pair, [text.request.text for text in texts])
    guarded = await model.translate(pair, [text.request for text in texts])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, request), raw, translation in zip(texts, bare, guarded, strict=True):
        literals = Counter([*request.do_not_translate, *request.terms.values()]) + count_literals(request.text, pair)
        faulty = bool(guard.find_issues(request.text, replace(raw, text=raw.text.strip()), pair))
        codes = {warning.code for warning in translation.warnings}
        shown = translation.translation
        facts = (
            True,
            faulty or misses(raw.text, literals),
            shown is not None and codes == {TRANSLATED_IN_PIECES.code},
            shown is not None and bool(codes - {TRANSLATED_IN_PIECES.code}),
            shown is None,
            shown is not None and misses(shown, literals),
        )
        counts[kind] += Counter({column: int(fact) for column, fact in zip(HOSTILE_COLUMNS, facts, strict=True)})
    return counts


def guard_counts(model: LocalModel) -> Counter[tuple[str, str]]:
    """Return what each guard caught so far, by its outcome."""
    counts: Counter[tuple[str, str]] = Counter()
    for sample in (sample for metric in model.metrics.guards.collect() for sample in metric.samples):
        if sample.name.endswith("_total"):  # of each pair
            counts[sample.labels["guard"], sample.labels["outcome"]] += int(sample.value)
    return counts
