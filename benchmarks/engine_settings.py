"""Engine settings against each other: the same mixed texts through engines that differ in one setting, in turns.

    python -m benchmarks.engine_settings [--catalog deploy/models/demo.yaml] [--model NAME] [--pairs FILE]
                                         [--variants catalog,compiled,…] [--rounds 5] [--texts 120] [--device cpu|cuda]

Every variant's engine is started before the first round and stays up, so that each round asks all of them, in rotating
order, for the same texts (other ones in every round), and what the machine does meanwhile hits all alike. Texts are single
sentences and paragraphs together, and go the whole way of the API server without HTTP. FILE holds english<TAB>other lines.
Prints Markdown: medians over the rounds, and each variant's throughput as a ratio to the first one's of the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import psutil

from apiserver import catalog
from apiserver.engine import ENVIRONMENT
from apiserver.placeholders import Protection
from apiserver.plan import Wish
from apiserver.work import Work
from benchmarks.engine_rounds import Round, all_asked, at_least_one, new_children, ratios, some_of
from benchmarks.hosting import Hosted, hosted
from benchmarks.overload_mix import Mix, read_sentences
from shared.wire import TextFormat

if TYPE_CHECKING:
    from apiserver.catalog import ModelEntry

SEED: Final = 6
# The first steps of an engine are slow.
WARM_UP_TEXTS: Final = 30
PLAIN: Final = Wish(TextFormat.TEXT, Protection.of((), {}))


class Variant(NamedTuple):
    """A setting under test: engine arguments beside the catalog's, and environment of the engine's process."""

    arguments: Mapping[str, Any]
    environment: Mapping[str, str] = {}


VARIANTS: Final[Mapping[str, Variant]] = {
    "catalog": Variant({}),
    "catalog-again": Variant({}),  # how far apart engines are that differ in nothing
    "eager": Variant({"enforce_eager": True}),
    "compiled": Variant({"enforce_eager": False}),
    "no-prefix-caching": Variant({"enable_prefix_caching": False}),
    "fcfs": Variant({"scheduling_policy": "fcfs"}),
    "no-async-scheduling": Variant({"async_scheduling": False}),
    "no-chunked-prefill": Variant({"enable_chunked_prefill": False}),
    "tokens-256": Variant({"max_num_batched_tokens": 256}),
    "tokens-8192": Variant({"max_num_batched_tokens": 8192}),
    "block-32": Variant({"block_size": 32}),
    "seqs-64": Variant({"max_num_seqs": 64}),
    "omp-2": Variant({}, {"OMP_NUM_THREADS": "2"}),
}


@dataclass
class Running:
    """One variant's engine, and what came of its rounds."""

    name: str
    host: Hosted
    started: float
    core: Sequence[psutil.Process]
    rounds: list[Round] = field(default_factory=list[Round])


def line(name: str, started: float, rounds: Sequence[Round], first: Sequence[Round]) -> str:
    """Return a variant's line of the table; ``first`` are the rounds of the variant that it is compared with."""
    ratio = median(ratios([each.rate for each in rounds], [each.rate for each in first]))
    cuts = [quantiles(each.latencies, n=20, method="inclusive") for each in rounds]
    return (
        f"| {name} | {median(each.rate for each in rounds):.1f} | {ratio:.2f} | "
        f"{median(each.engine_ms for each in rounds):.1f} | {median(each.front_ms for each in rounds):.2f} | "
        f"{median(cut[9] for cut in cuts) * 1000:.0f} | {median(cut[18] for cut in cuts) * 1000:.0f} | {started:.0f} |"
    )


async def ask(running: Running, texts: Sequence[str], name: str) -> Round:
    """Translate the texts and say what it took."""
    translator, pair = running.host.translator, running.host.entry.all_pairs[0]

    async def one(number: int) -> None:
        planned = await translator.prepare(pair, texts[number], PLAIN)
        await translator.complete(planned, f"{name}-{number}", Work())

    return await all_asked(len(texts), one, running.core)


async def start(stack: AsyncExitStack, entry: ModelEntry, name: str) -> Running:
    """Start a variant's engine."""
    variant = VARIANTS[name]
    changed = entry.model_copy(update={"engine": {**entry.engine, **variant.arguments}})
    kept = {key: os.environ.get(key) for key in variant.environment}
    os.environ.update(variant.environment)
    began = time.monotonic()
    try:
        with new_children() as core:
            host = await stack.enter_async_context(hosted(changed))
    finally:
        for key, value in kept.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})
    return Running(name, host, time.monotonic() - began, core)


async def compare(options: argparse.Namespace) -> None:
    """Start every variant, ask all of them in turns, print the table."""
    entry = catalog.load(options.catalog, (options.model,) if options.model else ())[0]
    mix = Mix(read_sentences(options.pairs), SEED)
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    async with AsyncExitStack() as stack:
        all_running: list[Running] = []
        for name in options.variants:
            all_running.append(await start(stack, entry, name))
            warm_up = [mix.text(number).text for number in range(WARM_UP_TEXTS)]
            await ask(all_running[-1], warm_up, "warm")
            sys.stderr.write(f"{name} started in {all_running[-1].started:.0f} s\n")
        for number in range(options.rounds):
            first = WARM_UP_TEXTS + number * options.texts
            texts = [mix.text(each).text for each in range(first, first + options.texts)]
            shift = number % len(all_running)
            for running in all_running[shift:] + all_running[:shift]:
                running.rounds.append(await ask(running, texts, f"round-{number}"))
    print(f"# {entry.name} on {options.device}: {options.rounds} rounds of {options.texts} mixed texts\n")
    print("| variant | texts/s | ratio | engine CPU ms/text | front CPU ms/text | p50 ms | p95 ms | start s |")
    print("|---|---|---|---|---|---|---|---|")
    for running in all_running:
        print(line(running.name, running.started, running.rounds, all_running[0].rounds))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine_settings", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"), help="default: %(default)s")
    parser.add_argument("--model", help="its name in the catalog (default: the first)")
    parser.add_argument("--pairs", type=Path, help="file of english<TAB>other lines (default: made up sentences)")
    parser.add_argument(
        "--variants", type=some_of(VARIANTS), default=list(VARIANTS), help="comma-separated (default: all)"
    )
    parser.add_argument("--rounds", type=at_least_one, default=5, help="default: %(default)s")
    parser.add_argument("--texts", type=at_least_one, default=120, help="of a round (default: %(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="what the installed vLLM is for")
    asyncio.run(compare(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
