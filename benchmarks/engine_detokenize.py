"""Answers decoded once, as the API server does it, against vLLM's decoding token by token: one engine, in turns.

    python -m benchmarks.engine_detokenize [--catalog deploy/models/demo.yaml] [--model NAME] [--pairs FILE]
                                           [--rounds 5] [--texts 400] [--device cpu|cuda]

Both ways ask the same engine, which decodes nothing itself, for answers as long as their texts, whatever they say; each
round has other texts, and the order alternates. Prefixes are not cached: the later ways would find what the first one left. ``once-again`` is the first way a second time: what it differs by is noise.
Prints Markdown: medians of the rounds with least and most; ratios are to the first way in the same round. Front is this
process: vLLM's AsyncLLM and its client, without anything else of the API server.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.engine_direct import LONGEST_TEXT, DirectEngine, Texts, add_arguments, chosen_entry, exactly, running
from benchmarks.engine_rounds import Round, all_asked, ratios, spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WARM_UP_TEXTS: Final = 60
# Whether vLLM decodes, token by token.
WAYS: Final[Mapping[str, bool]] = {"once": False, "token by token": True, "once-again": False}


def line(name: str, rounds: Sequence[Round], first: Sequence[Round]) -> str:
    """Return a way's line of the table; ``first`` are the rounds of the way that it is compared with."""
    front = ratios([each.front_ms for each in rounds], [each.front_ms for each in first])
    rate = ratios([each.rate for each in rounds], [each.rate for each in first])
    return (
        f"| {name} | {spread([each.front_ms for each in rounds], 2)} | {spread(front, 2)} | "
        f"{spread([each.engine_ms for each in rounds], 1)} | "
        f"{spread([each.rate for each in rounds], 1)} | {spread(rate, 2)} |"
    )


async def ask(engine: DirectEngine, texts: Sequence[Sequence[int]], *, detokenize: bool, name: str) -> Round:
    """Ask for the texts and make text of every answer."""
    samplings = [exactly(len(text), detokenize=detokenize) for text in texts]

    async def one(number: int) -> None:
        made = await engine.answer(texts[number], samplings[number], f"{name}-{number}")
        if not detokenize:
            engine.text_of(made)

    return await all_asked(len(texts), one, engine.core)


async def compare(options: argparse.Namespace) -> None:
    """Start the engine, ask in both ways in turns, print the table."""
    entry = chosen_entry(options)
    rounds: dict[str, list[Round]] = {name: [] for name in WAYS}
    tokens = 0
    async with running(entry, {"enable_prefix_caching": False}) as engine:
        texts = Texts(engine, options.pairs, min(LONGEST_TEXT, engine.max_model_len // 2))
        for detokenize in WAYS.values():
            await ask(engine, texts.take(WARM_UP_TEXTS), detokenize=detokenize, name="warm")
        for number in range(options.rounds):
            own = texts.take(options.texts)
            tokens += sum(map(len, own))
            shift = number % len(WAYS)
            for way in [*WAYS][shift:] + [*WAYS][:shift]:
                done = await ask(engine, own, detokenize=WAYS[way], name=f"round-{number}")
                rounds[way].append(done)
            sys.stderr.write(f"round {number + 1} of {options.rounds}\n")
    mean = tokens / (options.rounds * options.texts)
    print(
        f"# {entry.name} on {options.device}: {options.rounds} rounds of {options.texts} answers of {mean:.0f} tokens\n"
    )
    print("| decoded | front CPU ms/text | ratio | engine CPU ms/text | texts/s | ratio |")
    print("|---|---|---|---|---|---|")
    for name, found in rounds.items():
        print(line(name, found, rounds["once"]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine_detokenize", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    add_arguments(parser, texts=400)
    asyncio.run(compare(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
