"""Quality of translations with the guards and without, and what each guard catches.

    python -m benchmarks.quality --pairs FOLDER [--catalog deploy/models/demo.yaml] [--limit 1000] [--each 20]

FOLDER holds a file NAME.valid.tsv of english<TAB>other lines for each model NAME of the catalog. "Without" asks the
engine once per text with the same prompt, sampling and output limit and takes what comes; "with" is everything that the
API server does. Scores are sacrebleu's over the whole file against its one reference. Prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from apiserver.catalog import loader
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.protection.placeholders import count_literals
from apiserver.translation.assembler import TRANSLATED_IN_PIECES
from benchmarks.harness.engine import LocalModel, TextRequest, running_model
from benchmarks.harness.report import table
from benchmarks.quality.hostile_texts import hostile_texts
from models.corpus import Pair, read_pairs
from shared.languages import LanguagePair

PARAGRAPH_SEED: Final = 5
SENTENCE_COLUMNS: Final = ("direction", "guards", "chrF", "BLEU", "empty", "looped", "echoed", "warnings")
PARAGRAPH_COLUMNS: Final = ("direction", "paragraphs", "chrF by sentence", "chrF by paragraph", "difference")
HOSTILE_COLUMNS: Final = (
    *("texts", "faulty without", "in pieces", "shown with a fault", "no usable output", "literal lost"),
)
# Of what a guard caught: the metric's label and the table's heading.
GUARD_OUTCOMES: Final = {"mended": "mended", "shown": "shown with a warning", "given-up": "given up"}


def chrf(answers: Sequence[str], references: Sequence[str]) -> float:
    """Return sacrebleu's chrF over the whole."""
    return CHRF().corpus_score(list(answers), [list(references)]).score


def score(sources: Sequence[str], answers: Sequence[str], references: Sequence[str], looped: int) -> tuple[str, ...]:
    """Return chrF and BLEU of answers, and how many are empty, looped or echoes."""
    echoed = sum(_plain(source) == _plain(answer) for source, answer in zip(sources, answers, strict=True))
    empty = sum(not answer.strip() for answer in answers)
    bleu = BLEU().corpus_score(list(answers), [list(references)]).score
    return f"{chrf(answers, references):.1f}", f"{bleu:.1f}", str(empty), str(looped), str(echoed)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def paragraphs(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Cut the sentences into paragraphs of 3 to 10, the same ones every time."""
    rng = random.Random(PARAGRAPH_SEED)  # noqa: S311 - variety, not secrets
    left, groups = list(pairs), list[list[Pair]]()
    while len(left) >= 3:
        size = rng.randint(3, 10)
        groups.append(left[:size])
        left = left[size:]
    return [group for group in groups if len(group) >= 3]


def sides(pair: LanguagePair, rows: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """Return the direction's sources and references."""
    english, other = [row.english for row in rows], [row.other for row in rows]
    return (english, other) if pair.source == "en" else (other, english)


async def score_sentences(model: LocalModel, pair: LanguagePair, rows: Sequence[Pair]) -> list[tuple[str, ...]]:
    """Return one direction's scores without and with the guards."""
    sources, references = sides(pair, rows)
    bare = await model.generate(pair, sources)
    guarded = await model.translate(pair, [TextRequest(text) for text in sources])
    warnings = Counter(warning.code for translation in guarded for warning in translation.warnings)
    # Without guards: what did not come to an end by itself.
    endless = sum(generation.finish_reason != "stop" for generation in bare)
    looped = warnings["output-too-long"] + warnings["output-repeats"]
    without = score(sources, [generation.text.strip() for generation in bare], references, endless)
    with_guards = score(sources, [translation.translation or "" for translation in guarded], references, looped)
    return [(str(pair), "without", *without, "-"), (str(pair), "with", *with_guards, str(warnings.total()))]


async def score_paragraphs(model: LocalModel, pair: LanguagePair, rows: Sequence[Pair]) -> tuple[str, ...]:
    """Return how paragraphs score beside their sentences one by one."""
    groups = paragraphs(rows)
    flat = [row for group in groups for row in group]
    sentences = iter(await model.translate(pair, [TextRequest(text) for text in sides(pair, flat)[0]]))
    one_by_one = [" ".join(next(sentences).translation or "" for _ in group) for group in groups]
    whole = await model.translate(pair, [TextRequest(" ".join(sides(pair, group)[0])) for group in groups])
    references = [" ".join(sides(pair, group)[1]) for group in groups]
    first = chrf(one_by_one, references)
    second = chrf([translation.translation or "" for translation in whole], references)
    return str(pair), str(len(groups)), f"{first:.1f}", f"{second:.1f}", f"{second - first:+.1f}"


def misses(answer: str, literals: Mapping[str, int]) -> bool:
    """Whether an answer lacks something that must survive literally."""
    return any(answer.count(literal) < count for literal, count in literals.items())


async def judge_hostile(
    model: LocalModel, pair: LanguagePair, rows: Sequence[Pair], each: int
) -> dict[str, Counter[str]]:
    """Count, per kind of hostile text, the columns of :data:`HOSTILE_COLUMNS`."""
    sources, foreign = sides(pair, rows)
    texts = hostile_texts(sources, foreign, each)
    guard = QualityGuard(OutputLanguage())
    bare = await model.generate(pair, [text.request.text for text in texts])
    guarded = await model.translate(pair, [text.request for text in texts])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, request), raw, translation in zip(texts, bare, guarded, strict=True):
        literals = Counter([*request.do_not_translate, *request.terms.values()]) + count_literals(request.text)
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


async def measure(options: argparse.Namespace) -> None:
    """Print every table."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    caught: Counter[tuple[str, str]] = Counter()
    for entry in loader.load(options.catalog):
        rows, pairs = read_pairs(options.pairs / f"{entry.name}.valid.tsv")[: options.limit], entry.all_pairs
        async with running_model(entry) as model:
            print(f"\n## {entry.name}, {len(rows)} sentences\n")
            _print_table(SENTENCE_COLUMNS, [row for pair in pairs for row in await score_sentences(model, pair, rows)])
            _print_table(PARAGRAPH_COLUMNS, [await score_paragraphs(model, pair, rows) for pair in pairs])
            before = guard_counts(model)
            for pair in pairs:
                for kind, counts in (await judge_hostile(model, pair, rows, options.each)).items():
                    kinds[kind] += counts
            caught += guard_counts(model) - before
    print("## Hostile texts\n")
    hostile = [(kind, *(str(counts[column]) for column in HOSTILE_COLUMNS)) for kind, counts in kinds.items()]
    _print_table(("kind", *HOSTILE_COLUMNS), hostile)
    by_guard = {guard: [caught[guard, outcome] for outcome in GUARD_OUTCOMES] for guard, _ in sorted(caught)}
    rows = [(guard, str(sum(counts)), *map(str, counts)) for guard, counts in by_guard.items()]
    _print_table(("guard", "caught", *GUARD_OUTCOMES.values()), rows)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("\n".join([*table(headings, rows), ""]), flush=True)


def main() -> None:
    """Measure and print."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.quality", formatter_class=formatter)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of NAME.valid.tsv files")
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"))
    parser.add_argument("--limit", type=int, default=1000, help="sentences per model")
    parser.add_argument("--each", type=int, default=20, help="hostile texts of each kind and direction")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
