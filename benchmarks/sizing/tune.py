"""What a model's engine should run at once on this machine: throughput over max_num_seqs and max_num_batched_tokens.

    python -m benchmarks.sizing.tune [--catalog deploy/models/demo.yaml] [--model NAME] [--pairs FOLDER]

Texts of mixed lengths go through the whole API server but HTTP, as many in flight as the engine may run at once.
FOLDER holds NAME.valid.tsv of english<TAB>other lines; without it a few sentences of our own are used. The engine is
started once for each max_num_batched_tokens, with the largest max_num_seqs; the smaller ones are held by our own slots.
That is the same to the engine's batches, but not to what it sets aside at its start (CUDA graphs, memory for a step):
start once more with what is recommended before you rely on it. Prints Markdown, the knee, and the lines for the catalog.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from apiserver.catalog import loader
from apiserver.catalog.model_entry import ModelEntry
from benchmarks.harness.engine import LocalModel, TextRequest, running_model, work_item
from benchmarks.harness.load import Sample, Stream, Timing, run_load
from benchmarks.harness.program import integers
from benchmarks.harness.report import table
from benchmarks.harness.texts import read_sentences
from models.corpus import read_pairs
from shared.languages import LanguagePair

SEED: Final = 11
# Sentences in a text, and how many of ten texts have that many: chat and menus, paragraphs, a page.
LENGTHS: Final = ((1, 6), (3, 3), (12, 1))
TEXTS: Final = 500
# More in flight is worth while only as long as it makes the whole faster: the knee is where this much of the best is had.
KNEE_SHARE: Final = 0.95
# Before a measurement: the last one's texts end, the batch fills.
WARM_UP_SECONDS: Final = 2.0
HEADINGS: Final = ("max_num_batched_tokens", "max_num_seqs", "units/s", "texts/s", "p50 ms", "p95 ms", "ms a step")


class TuningRow(NamedTuple):
    """One measurement: units of cost a second, and all figures as a row of the table."""

    tokens: int
    seqs: int
    units: float
    cells: tuple[str, ...]


def sentences_for(entry: ModelEntry, pair: LanguagePair, folder: Path | None) -> list[str]:
    """Return sentences in the pair's source language, none longer than a paragraph."""
    file = None if folder is None else folder / f"{entry.name}.valid.tsv"
    if file is not None and file.is_file():
        return [row.english if pair.source == "en" else row.other for row in read_pairs(file)]
    if pair.source == "en":
        return read_sentences(None)
    return [f"{number}. {entry.canary(pair)}" for number in range(1, 11)]


def mixed(sentences: Sequence[str], count: int) -> list[str]:
    """Return texts of mixed lengths, the same ones every time."""
    rng = random.Random(SEED)  # noqa: S311 - variety, not secrets
    sizes = [size for size, share in LENGTHS for _ in range(share)]
    return [" ".join(rng.choices(sentences, k=rng.choice(sizes))) for _ in range(count)]


async def measure(
    model: LocalModel, pair: LanguagePair, texts: Sequence[str], at_once: int, seconds: float
) -> TuningRow:
    """Keep ``at_once`` texts in flight for so long and say what came of it."""
    model = model.with_slots(at_once)
    samples: list[Sample] = []
    numbers = itertools.count()

    async def send(due: float) -> None:
        number, sent = next(numbers), time.monotonic()
        text = texts[number % len(texts)]
        work = work_item(pair, TextRequest(text), f"tune-{at_once}-{number}")
        await model.translator.translate(work)
        samples.append(Sample("tune", number, work.cost, due, sent, time.monotonic(), 200, ""))

    steps = model.engine.progress().steps
    timing = Timing(seconds, WARM_UP_SECONDS)
    result = await run_load([(Stream("tune", concurrency=at_once), send)], samples, timing)
    steps = model.engine.progress().steps - steps
    tokens = int(model.entry.engine["max_num_batched_tokens"])
    units = sum(sample.units for sample in result.counted) / result.seconds
    step = 1000 * (result.ended - result.began) / (steps or math.nan)
    times = (f"{result.latency_ms(50):.0f}", f"{result.latency_ms(95):.0f}", f"{step:.1f}")
    return TuningRow(tokens, at_once, units, (str(tokens), str(at_once), f"{units:.1f}", f"{result.rate:.1f}", *times))


def knee(rows: Sequence[TuningRow]) -> TuningRow:
    """Return the smallest batch that has nearly the best throughput, and of its like the one with the shortest steps."""
    best = max(row.units for row in rows)
    return min((row for row in rows if row.units >= KNEE_SHARE * best), key=lambda row: (row.seqs, row.tokens))


async def tune(options: argparse.Namespace) -> None:
    """Measure every combination and print the table, the knee and what to write."""
    entry = loader.load(options.catalog, (options.model,) if options.model else ())[0]
    pair = entry.all_pairs[0]
    texts = mixed(sentences_for(entry, pair, options.pairs), TEXTS)
    print(f"# {entry.name}, {pair}, texts of {sum(map(len, texts)) / len(texts):.0f} characters on average\n")
    print("\n".join(table(HEADINGS, ())))
    rows: list[TuningRow] = []
    for tokens in options.tokens:
        fitting = [seqs for seqs in options.seqs if seqs <= tokens]  # vLLM takes no larger batches than that
        if not fitting:
            continue
        changed = {**entry.engine, "max_num_seqs": max(fitting), "max_num_batched_tokens": tokens}
        async with running_model(entry.model_copy(update={"engine": changed})) as model:
            await measure(model, pair, texts, min(fitting), WARM_UP_SECONDS)  # the first steps are slow
            for seqs in fitting:
                rows.append(await measure(model, pair, texts, seqs, options.seconds))
                print(table(HEADINGS, [rows[-1].cells])[-1], flush=True)
    best = knee(rows)
    print(f"\nThe knee: {best.seqs} at once have at least {KNEE_SHARE:.0%} of the best throughput. For the catalog:\n")
    print(f"    engine:\n      max_num_seqs: {best.seqs}\n      max_num_batched_tokens: {best.tokens}")
    if entry.engine.get("max_num_seqs") == best.seqs and entry.engine.get("max_num_batched_tokens") == best.tokens:
        print("\nThat is what it has already.")


def main() -> None:
    """Measure and print."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.sizing.tune", formatter_class=formatter)
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"))
    parser.add_argument("--model", help="its name in the catalog; without it the first")
    parser.add_argument("--pairs", type=Path, help="folder of NAME.valid.tsv files")
    parser.add_argument("--seqs", type=integers, default="8,16,32,64,128", help="max_num_seqs")
    parser.add_argument("--tokens", type=integers, default="512,2048,8192", help="max_num_batched_tokens")
    parser.add_argument("--seconds", type=float, default=8.0, help="for each measurement")
    asyncio.run(tune(parser.parse_args()))


if __name__ == "__main__":
    main()
