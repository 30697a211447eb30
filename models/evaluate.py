"""Measure a demo translator on a validation file, in both directions, through vLLM.

    python -m models.evaluate --model models/en-de --pairs en-de.valid.tsv

Greedy decoding; chrF and BLEU by sacrebleu over the whole file against its one reference.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from models.corpus import read_pairs
from models.tokenizer import ENGLISH, PairTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm import LLM
    from vllm.config.model import ModelDType

# 64 sequences of 512 tokens take 192 MiB at 6 KiB a token: 6 layers, key and value, width 256, 2 bytes. In
# float32 fewer run at a time.
KV_CACHE_BYTES = 1 << 28
MAX_SEQUENCES = 64
CONTEXT_TOKENS = 512


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
    tokenizer = PairTokenizer.load(options.model)
    pairs, language = read_pairs(options.pairs)[: options.limit], tokenizer.language
    english, other = [pair.english for pair in pairs], [pair.other for pair in pairs]
    llm = load(options.model, options.dtype)
    for direction in (
        Direction(ENGLISH, language, english, other),
        Direction(language, ENGLISH, other, english),
    ):
        started = time.perf_counter()
        answers = translate(llm, tokenizer, direction, options.max_tokens)
        report(direction, answers, time.perf_counter() - started)
        if options.answers is not None:
            write_answers(options.answers, direction, answers)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m models.evaluate",
        description="Measure a demo translator on a validation file, in both directions, through vLLM.",
    )
    add = parser.add_argument
    add("--model", type=Path, required=True, help="folder of the model")
    add("--pairs", type=Path, required=True, help="file of english<TAB>other lines")
    add("--dtype", default="bfloat16", choices=("bfloat16", "float32"), help="numbers (default: %(default)s)")
    add("--max-tokens", type=int, default=64, help="limit of an answer in tokens (default: %(default)s)")
    add("--limit", type=int, help="how many pairs to take from the file's beginning (default: all)")
    add("--answers", type=Path, help="folder for files of text<TAB>answer<TAB>reference (default: none)")
    return parser.parse_args(arguments)


def load(model: Path, dtype: ModelDType) -> LLM:
    """Return an offline engine: in this process, on one thread and quiet unless the environment differs."""
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")  # the log would go to stdout, among the scores
    from vllm import LLM  # noqa: PLC0415 - vLLM and torch read these settings when imported

    return LLM(
        model=str(model),
        dtype=dtype,
        max_model_len=CONTEXT_TOKENS,
        max_num_seqs=MAX_SEQUENCES,
        kv_cache_memory_bytes=KV_CACHE_BYTES,
        enforce_eager=True,
    )


def translate(llm: LLM, tokenizer: PairTokenizer, direction: Direction, max_tokens: int) -> list[Answer]:
    """Return the greedy translation of each text, in order."""
    from vllm import SamplingParams, TokensPrompt  # noqa: PLC0415 - see load()

    prompts = [
        TokensPrompt(prompt_token_ids=tokenizer.prompt(ids, direction.source, direction.target))
        for ids in tokenizer.encode(direction.texts)
    ]
    outputs = llm.generate(  # pyright: ignore[reportUnknownMemberType] - through tqdm's open type
        prompts, SamplingParams(temperature=0, max_tokens=max_tokens), use_tqdm=False
    )
    answers = [output.outputs[0] for output in outputs]
    return [Answer(answer.text.strip(), cut=answer.finish_reason == "length") for answer in answers]


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
    """Write a file that sets each text beside its answer and its reference."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = zip(direction.texts, answers, direction.references, strict=True)
    lines = (f"{text}\t{answer.text}\t{reference}\n" for text, answer, reference in rows)
    (folder / f"{direction.source}-{direction.target}.tsv").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
