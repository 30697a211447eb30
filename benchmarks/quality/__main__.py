"""What the pipeline makes of texts, with its guards and without: quality, and every guard's catch.

    python -m benchmarks.quality --pairs FOLDER [--catalog deploy/models/demo.yaml] [--limit 1000] [--each 20]

FOLDER holds a file NAME.valid.tsv of english<TAB>other lines for each model NAME of the catalog. "Without" asks the
engine once per text with the same prompt, decoding and output budget and takes what comes; "with" is the API server's
whole way. Scores are sacrebleu's over the whole file against its one reference. Prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from apiserver.catalog import loader
from apiserver.engine.interface import GenerationResult
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.protection.placeholders import count_literals
from apiserver.translation.assembler import TRANSLATED_IN_PIECES
from benchmarks.harness.engine import Hosted, Wanted, hosted
from benchmarks.quality.hostile_texts import hostile_texts
from models.corpus import Pair, read_pairs
from shared.languages import LanguagePair

PARAGRAPH_SEED: Final = 5


class Score(NamedTuple):
    """Quality of one set of answers; the last three count answers."""

    chrf: float
    bleu: float
    empty: int
    looped: int
    echoed: int


def score(sources: Sequence[str], answers: Sequence[str], references: Sequence[str], looped: int) -> Score:
    """Score answers against their references."""
    echoed = sum(_plain(source) == _plain(answer) for source, answer in zip(sources, answers, strict=True))
    empty = sum(not answer.strip() for answer in answers)
    chrf = CHRF().corpus_score(list(answers), [list(references)]).score
    bleu = BLEU().corpus_score(list(answers), [list(references)]).score
    return Score(chrf, bleu, empty, looped, echoed)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def loops(generation: GenerationResult) -> bool:
    """Say whether an answer did not come to an end by itself."""
    return generation.finish_reason != "stop"


def paragraphs(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Cut the sentences into paragraphs of 3 to 10, the same ones every time."""
    rng = random.Random(PARAGRAPH_SEED)  # noqa: S311 - variety, not secrets
    left, made = list(pairs), list[list[Pair]]()
    while len(left) >= 3:
        size = rng.randint(3, 10)
        made.append(left[:size])
        left = left[size:]
    return [each for each in made if len(each) >= 3]


def sides(pair: LanguagePair, rows: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """Return the direction's sources and references."""
    english, other = [row.english for row in rows], [row.other for row in rows]
    return (english, other) if pair.source == "en" else (other, english)


async def sentences(host: Hosted, pair: LanguagePair, rows: Sequence[Pair]) -> None:
    """Print one direction's scores without and with the pipeline's care."""
    sources, references = sides(pair, rows)
    bare = await host.generate(pair, sources)
    cared = await host.translate(pair, [Wanted(text) for text in sources])
    without = score(sources, [made.text.strip() for made in bare], references, sum(map(loops, bare)))
    told = Counter(warning.code for made in cared for warning in made.warnings)
    looping = told["output-too-long"] + told["output-repeats"]
    guarded = score(sources, [made.translation or "" for made in cared], references, looping)
    for name, found in (("without", without), ("with", guarded)):
        print(
            f"| {pair} | {name} | {found.chrf:.1f} | {found.bleu:.1f} | {found.empty} | {found.looped} | "
            f"{found.echoed} | {sum(told.values()) if name == 'with' else '-'} |"
        )


async def joined(host: Hosted, pair: LanguagePair, rows: Sequence[Pair]) -> None:
    """Print how paragraphs fare against their sentences one by one."""
    groups = paragraphs(rows)
    flat = [row for group in groups for row in group]
    apart = iter(await host.translate(pair, [Wanted(text) for text in sides(pair, flat)[0]]))
    one_by_one = [" ".join(next(apart).translation or "" for _ in group) for group in groups]
    whole = await host.translate(pair, [Wanted(" ".join(sides(pair, group)[0])) for group in groups])
    references = [" ".join(sides(pair, group)[1]) for group in groups]
    scores = [
        CHRF().corpus_score(texts, [references]).score
        for texts in (one_by_one, [made.translation or "" for made in whole])
    ]
    print(f"| {pair} | {len(groups)} | {scores[0]:.1f} | {scores[1]:.1f} | {scores[1] - scores[0]:+.1f} |")


def misses(answer: str, wanted: Mapping[str, int]) -> bool:
    """Say whether an answer lacks something that must survive literally."""
    return any(answer.count(literal) < count for literal, count in wanted.items())


async def hostile(host: Hosted, pair: LanguagePair, rows: Sequence[Pair], each: int) -> dict[str, list[int]]:
    """Return, per kind of hostile text: how many, faulty without care, and with it: in pieces, faulty, none, incomplete."""
    sources, foreign = sides(pair, rows)
    texts = hostile_texts(sources, foreign, each)
    judge = QualityGuard(OutputLanguage())
    bare = await host.generate(pair, [text.wanted.text for text in texts])
    cared = await host.translate(pair, [text.wanted for text in texts])
    table: dict[str, list[int]] = defaultdict(lambda: [0] * 6)
    for text, raw, made in zip(texts, bare, cared, strict=True):
        output = GenerationResult(
            raw.text.strip(), raw.finish_reason, repeats=raw.repeats, leaked_controls=raw.leaked_controls
        )
        wanted = Counter([*text.wanted.do_not_translate, *text.wanted.terms.values()]) + count_literals(
            text.wanted.text
        )
        row = table[text.kind]
        row[0] += 1
        row[1] += bool(judge.find_issues(text.wanted.text, output, pair)) or misses(raw.text, wanted)
        codes = {warning.code for warning in made.warnings}
        row[2] += made.translation is not None and codes == {TRANSLATED_IN_PIECES.code}
        row[3] += made.translation is not None and bool(codes - {TRANSLATED_IN_PIECES.code})
        row[4] += made.translation is None
        row[5] += made.translation is not None and misses(made.translation, wanted)
    return table


def guard_counts(host: Hosted) -> dict[str, Counter[str]]:
    """Return, per guard, what came of what it caught so far."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for metric in host.metrics.guards.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                table[sample.labels["guard"]][sample.labels["outcome"]] += int(sample.value)
    return table


async def measure(options: argparse.Namespace) -> None:
    """Print every table."""
    quality: list[tuple[Hosted, LanguagePair]] = []
    kinds: dict[str, list[int]] = defaultdict(lambda: [0] * 6)
    caught: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in loader.load(options.catalog):
        rows = read_pairs(options.pairs / f"{entry.name}.valid.tsv")[: options.limit]
        async with hosted(entry) as host:
            print(f"\n## {entry.name}, {len(rows)} sentences\n")
            print("| direction | guards | chrF | BLEU | empty | looped | echoed | warnings |")
            print("|---|---|---|---|---|---|---|---|")
            for pair in entry.all_pairs:
                await sentences(host, pair, rows)
                quality.append((host, pair))
            print(
                "\n| direction | paragraphs | chrF by sentence | chrF by paragraph | difference |\n|---|---|---|---|---|"
            )
            for pair in entry.all_pairs:
                await joined(host, pair, rows)
            before = guard_counts(host)
            for pair in entry.all_pairs:
                for kind, counts in (await hostile(host, pair, rows, options.each)).items():
                    kinds[kind] = [a + b for a, b in zip(kinds[kind], counts, strict=True)]
            for guard, outcomes in guard_counts(host).items():
                caught[guard] += outcomes - before.get(guard, Counter[str]())
    print(
        "\n## Hostile texts\n\n| kind | texts | faulty without | in pieces | shown with a fault | no usable output | literal lost |\n|---|---|---|---|---|---|---|"
    )
    for kind, counts in kinds.items():
        print(f"| {kind} | {' | '.join(map(str, counts))} |")
    print("\n| guard | caught | mended | shown with a warning | given up |\n|---|---|---|---|---|")
    for guard, outcomes in sorted(caught.items()):
        told = " | ".join(str(outcomes[name]) for name in ("mended", "shown", "given-up"))
        print(f"| {guard} | {sum(outcomes.values())} | {told} |")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--pairs", type=Path, required=True, help="folder of NAME.valid.tsv files")
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"), help="default: %(default)s")
    parser.add_argument("--limit", type=int, default=1000, help="sentences per model (default: %(default)s)")
    parser.add_argument(
        "--each", type=int, default=20, help="hostile texts of each kind and direction (default: %(default)s)"
    )
    asyncio.run(measure(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
