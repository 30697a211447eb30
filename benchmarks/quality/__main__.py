"""Quality of translations with the guards and without, and what each guard catches.

    python -m benchmarks.quality --pairs FOLDER [--parts named,shown] [--limit 1000] [--each 20] [--out .run/quality]

FOLDER holds a file en-XX.valid.tsv of english<TAB>other lines for each language of the catalog's models. "Without" asks
the engine once per text with the same prompt, sampling and output limit and takes what comes; "with" is everything that
the API server does. Writes report.md and results.json, which has also every text whose names or numbers were lost.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Protocol

from apiserver.catalog import calibration, loader
from apiserver.catalog.calibration import Calibration, CalibrationError
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import weights_fingerprint
from benchmarks.harness.engine import LocalModel, running_model
from benchmarks.harness.program import add_names, options_parser
from benchmarks.harness.report import Checks, RunFolder, table
from benchmarks.quality.first_words import (
    FIRST_WORD_COLUMNS,
    FirstWordScore,
    misplaced,
    read_first_words,
    score_first_words,
)
from benchmarks.quality.hostile_scores import GUARD_OUTCOMES, HOSTILE_COLUMNS, guard_counts, judge_hostile
from benchmarks.quality.markup_scores import MARKUP_COLUMNS, MarkupScore, score_markup
from benchmarks.quality.named.contrasts import CONTRAST_COLUMNS, ContrastScore, read_contrasts, score_contrasts
from benchmarks.quality.named.named_scores import NAMED_COLUMNS, NamedScore, score_named
from benchmarks.quality.named.named_sentences import read_named
from benchmarks.quality.samples import has_english, samples, tatoeba
from benchmarks.quality.sentence_scores import (
    PARAGRAPH_COLUMNS,
    SENTENCE_COLUMNS,
    ParagraphScore,
    SentenceScore,
    score_paragraphs,
    score_sentences,
    sides,
)
from benchmarks.quality.shown_sentences import (
    RESULT,
    SHOWN_COLUMNS,
    ShownAnswer,
    answer_shown,
    in_order,
    weights_digest,
    write_documents,
    write_result,
)
from benchmarks.quality.systems import System, as_in_catalog, systems
from benchmarks.quality.targets import check_named, check_sentences
from models.corpus import read_pairs
from shared.languages import LanguagePair

PARTS: Final = ("sentences", "named", "contrasts", "words", "shown", "paragraphs", "markup", "hostile")
# Parts that take their texts from files of ``--pairs``.
WITH_PAIRS: Final = frozenset({"sentences", "paragraphs", "markup", "hostile"})


class Row(Protocol):
    """Figures that are a row of a table."""

    def row(self) -> tuple[str, ...]:
        """Return the cells."""
        ...


@dataclass
class Figures:
    """Everything measured, in the order of the models."""

    sentences: list[SentenceScore] = field(default_factory=list[SentenceScore])
    named: list[NamedScore] = field(default_factory=list[NamedScore])
    contrasts: list[ContrastScore] = field(default_factory=list[ContrastScore])
    words: list[FirstWordScore] = field(default_factory=list[FirstWordScore])
    shown: list[ShownAnswer] = field(default_factory=list[ShownAnswer])
    paragraphs: list[ParagraphScore] = field(default_factory=list[ParagraphScore])
    markup: list[MarkupScore] = field(default_factory=list[MarkupScore])
    hostile: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict[str, Counter[str]](Counter))
    caught: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def lines(self) -> list[str]:
        """Return the tables of what was measured."""
        lines = [
            *_section("Sentences", SENTENCE_COLUMNS, self.sentences),
            *_section("Names and numbers", NAMED_COLUMNS, self.named),
            *_section("Contrasts", CONTRAST_COLUMNS, self.contrasts),
            *_section("First words", FIRST_WORD_COLUMNS, self.words),
            *_section("Sentences as they come out", SHOWN_COLUMNS, in_order(self.shown)),
            *_section("Paragraphs", PARAGRAPH_COLUMNS, self.paragraphs),
            *_section("Inline tags", MARKUP_COLUMNS, self.markup),
        ]
        if not self.hostile:
            return lines
        hostile = [
            (kind, *(str(counts[column]) for column in HOSTILE_COLUMNS)) for kind, counts in self.hostile.items()
        ]
        guards = {
            guard: [self.caught[guard, outcome] for outcome in GUARD_OUTCOMES] for guard, _ in sorted(self.caught)
        }
        outcomes = [(guard, str(sum(counts)), *map(str, counts)) for guard, counts in guards.items()]
        lines += ["## Hostile texts", "", *table(("kind", *HOSTILE_COLUMNS), hostile), ""]
        return [*lines, *table(("guard", "caught", *GUARD_OUTCOMES.values()), outcomes), ""]

    def results(self) -> Mapping[str, object]:
        """Return the figures for JSON."""
        rows = {
            name: [asdict(each) for each in getattr(self, name)]
            for name in ("sentences", "named", "contrasts", "words", "shown", "paragraphs", "markup")
        }
        caught = {f"{guard} {outcome}": count for (guard, outcome), count in self.caught.items()}
        return {**rows, "hostile": {kind: dict(counts) for kind, counts in self.hostile.items()}, "caught": caught}


def _section(title: str, columns: Iterable[str], rows: Iterable[Row]) -> list[str]:
    cells = [row.row() for row in rows]
    return [f"## {title}", "", *table(tuple(columns), cells), ""] if cells else []


async def measure(options: argparse.Namespace, entries: Iterable[ModelEntry]) -> Figures:
    """Run each model and measure the wanted parts."""
    figures = Figures()
    for entry in entries:
        async with running_model(entry, calibrations=_calibrations(options.catalog, entry)) as model:
            for pair in filter(has_english, entry.all_pairs):
                await _measure_pair(figures, model, pair, options)
    return figures


def _calibrations(catalog: Path, entry: ModelEntry) -> Mapping[str, Calibration]:
    """Return the model's calibrations; none if they are of other weights."""
    try:
        return calibration.read(calibration.path_for(catalog, entry.name), weights_fingerprint(entry, None))
    except CalibrationError as error:
        print(f"uncalibrated confidence: {error}", file=sys.stderr)
        return {}


async def _measure_pair(figures: Figures, model: LocalModel, pair: LanguagePair, options: argparse.Namespace) -> None:
    begin, compared = time.monotonic(), systems(model)

    def progress(part: str) -> None:
        print(f"{time.monotonic() - begin:6.1f} s  {model.entry.name}  {pair}  {part}", file=sys.stderr, flush=True)

    rows = tatoeba(options.pairs, pair, options.limit).pairs if WITH_PAIRS & set(options.parts) else []
    if "sentences" in options.parts:
        for sample in samples(options.pairs, options.held_out, pair, options.limit):
            figures.sentences += await score_sentences(compared, sample.name, pair, sample.pairs)
            progress(f"sentences of {sample.name}")
    await _measure_written(figures, compared, as_in_catalog(model), pair, options)
    progress("texts of this repository")
    if "paragraphs" in options.parts:
        figures.paragraphs.append(await score_paragraphs(as_in_catalog(model), pair, rows))
        progress("paragraphs")
    if "markup" in options.parts:
        figures.markup.append(await score_markup(model, pair, *sides(pair, rows)))
        progress("markup")
    if "hostile" in options.parts:
        before = guard_counts(model)
        for kind, counts in (await judge_hostile(model, pair, *sides(pair, rows), options.each)).items():
            figures.hostile[kind] += counts
        figures.caught += guard_counts(model) - before
        progress("hostile")


async def _measure_written(
    figures: Figures, compared: Sequence[System], whole: System, pair: LanguagePair, options: argparse.Namespace
) -> None:
    """Measure the parts whose texts this repository has."""
    if "named" in options.parts and (sentences := read_named(str(pair))[: options.limit]):
        figures.named += [await score_named(system, pair, sentences) for system in compared]
    if "contrasts" in options.parts:
        figures.contrasts += [await score_contrasts(system, pair, read_contrasts()) for system in compared]
    if "words" in options.parts and pair.source == "en":
        figures.words.append(await score_first_words(whole, pair, read_first_words()))
    if "shown" in options.parts:
        figures.shown += await answer_shown(whole, pair)


def main() -> int:
    """Measure, print and write; return 1 when a target is missed."""
    parser = options_parser("quality", "Quality of translations with guards and without.")
    parser.add_argument("--pairs", type=Path, help="folder of en-XX.valid.tsv files")
    parser.add_argument(
        "--held-out", type=Path, help="folder of en-XX.held-out.tsv files of `python -m models.hold_out`"
    )
    parser.add_argument("--phrasebook", type=Path, nargs="+", help="its files: check that new first words are in none")
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"))
    parser.add_argument("--models", default="", help="names of the catalog, comma-separated; without it all")
    parser.add_argument("--limit", type=int, default=1000, help="sentences of each direction")
    parser.add_argument("--each", type=int, default=20, help="hostile texts of each kind and direction")
    parser.add_argument("--publish", action="store_true", help=f"write {RESULT.name} and the documents' rows too")
    add_names(parser, "--parts", PARTS)
    options = parser.parse_args()
    if options.pairs is None and (needing := WITH_PAIRS & set(options.parts)):
        parser.error(
            f"--pairs is needed for {', '.join(sorted(needing))}; without it: --parts named,contrasts,words,shown"
        )
    if options.publish and "shown" not in options.parts:
        parser.error("--publish needs the part shown")
    phrasebook = [row.english for file in options.phrasebook or () for row in read_pairs(file)]
    if phrasebook and (wrong := misplaced(read_first_words(), phrasebook)):
        parser.error(f"first words that are known and not there, or new and there: {', '.join(wrong)}")
    entries = loader.load(options.catalog, tuple(filter(None, options.models.split(","))))
    folder = RunFolder(options.out)
    figures = asyncio.run(measure(options, entries))
    digests = {entry.name: weights_digest(Path(entry.path)) for entry in entries}
    if options.publish:
        write_result(RESULT, entries, in_order(figures.shown))
        write_documents(figures.shown)
    checks = Checks()
    check_sentences(checks, figures.sentences)
    check_named(checks, figures.named)
    results = {"weights": digests, **figures.results()}
    return folder.publish("Quality", f"at most {options.limit} sentences", figures.lines(), results, checks)


if __name__ == "__main__":
    raise SystemExit(main())
