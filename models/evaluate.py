"""Measure a demo translator on a validation file, in both directions.

    python -m models.evaluate --model models/en-de --pairs en-de.valid.tsv

Greedy decoding; chrF and BLEU of the whole file by sacrebleu, with one reference.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from models.corpus import read_pairs
from models.tokenizer import ENGLISH, DemoTokenizer

# One process, one thread, and no log on stdout among the scores; the environment has precedence.
VLLM_ENVIRONMENT = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}


@dataclass(frozen=True)
class Answer:
    """One translation, and whether the token limit cut it short."""

    text: str
    cut: bool


@dataclass(frozen=True)
class Direction:
    """The texts of one direction with their references."""

    source: str
    target: str
    texts: list[str]
    references: list[str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the scores of both directions."""
    options = parse(arguments)
    for name, value in VLLM_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from models.offline_engine import OfflineEngine  # noqa: PLC0415 - vLLM and torch read the settings when imported

    try:
        tokenizer = DemoTokenizer.load(options.model)
        language = options.language or tokenizer.languages[0]
        pairs = read_pairs(options.pairs, language)[: options.limit]
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from error
    english, other = [pair.english for pair in pairs], [pair.other for pair in pairs]
    engine = OfflineEngine(options.model, options.dtype)
    for direction in (
        Direction(ENGLISH, language, english, other),
        Direction(language, ENGLISH, other, english),
    ):
        started = time.perf_counter()
        prompts = [
            tokenizer.prompt(ids, direction.source, direction.target) for ids in tokenizer.encode(direction.texts)
        ]
        answers = [Answer(text, cut=cut) for text, cut in engine.generate(prompts, options.max_tokens)]
        report(direction, answers, time.perf_counter() - started)
        if options.answers is not None:
            write_answers(options.answers, direction, answers)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m models.evaluate",
        description="Measure a demo translator on a validation file, in both directions, with vLLM.",
    )
    add = parser.add_argument
    add("--model", type=Path, required=True, help="folder of the model")
    add("--pairs", type=Path, required=True, help="file of english<TAB>other lines")
    add("--language", help="the other language (default: the model's first)")
    add("--dtype", default="bfloat16", choices=("bfloat16", "float32"), help="number format (default: %(default)s)")
    add("--max-tokens", type=int, default=64, help="most tokens of an answer (default: %(default)s)")
    add("--limit", type=int, help="number of pairs, from the start of the file (default: all)")
    add("--answers", type=Path, help="folder for files of text<TAB>answer<TAB>reference (default: none)")
    return parser.parse_args(arguments)


def report(direction: Direction, answers: Sequence[Answer], seconds: float) -> None:
    """Print one direction's scores, each with its signature."""
    hypotheses = [answer.text for answer in answers]
    cut = sum(answer.cut for answer in answers)
    print(f"{direction.source}→{direction.target}")
    print(f"  {len(answers)} sentences, {len(answers) / seconds:.1f} sentences/s")
    print(f"  {cut} answers ended by length ({cut / len(answers):.1%})")
    for metric in (CHRF(), BLEU()):
        score = metric.corpus_score(hypotheses, [direction.references])
        print(f"  {score.name} {score.score:.1f}  {metric.get_signature()}")


def write_answers(folder: Path, direction: Direction, answers: Sequence[Answer]) -> None:
    """Write a file of text, answer and reference per line."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = zip(direction.texts, answers, direction.references, strict=True)
    lines = (f"{text}\t{answer.text}\t{reference}\n" for text, answer, reference in rows)
    (folder / f"{direction.source}-{direction.target}.tsv").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
