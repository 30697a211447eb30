"""Prefix caching on and off, in turns: what an instruction before every text costs, by its length.

    python -m benchmarks.engine_prefix [--catalog deploy/models/demo.yaml] [--model NAME] [--pairs FILE]
                                       [--shared 0,64,109,256] [--blocks own,32] [--rounds 5] [--texts 40]
                                       [--device cpu|cuda]

Every prompt is the same instruction's first tokens and then a text of its own; the answer has as many tokens as the text,
whatever they say (the demo model's say nothing), so that all engines do the same work. For each block size (tokens that
are found again together; ``own`` is the catalog's, or vLLM's for the device) an engine with caching and one without are
started before the first round and stay up; each round has other texts, and the order of engines and lengths rotates. The
instruction has been seen before the first round: what is measured is the state of a server that is up.
Prints Markdown: what each prompt family shares before its text, then medians of the rounds with least and most; ratios
are of the engine with caching to the one without in the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from apiserver.families import FAMILIES
from apiserver.prompt import Control, Words
from apiserver.template import with_slots
from benchmarks.engine_direct import LONGEST_TEXT, DirectEngine, Texts, add_arguments, chosen_entry, exactly, running
from benchmarks.engine_rounds import Round, all_asked, ratios, some_of, spread
from shared.languages import LanguagePair

if TYPE_CHECKING:
    from apiserver.prompt import PairPrompt, Piece, PromptFamily

T = TypeVar("T")

WARM_UP_TEXTS: Final = 10
# Stands for a text; no family's wording has it.
ANY_TEXT: Final = "\N{OBJECT REPLACEMENT CHARACTER}"
PAIR: Final = LanguagePair("en", "de")
# The longest of all families: what the prompts begin with, over and over where that is not enough.
INSTRUCTION_OF: Final = "translategemma"


# Engine arguments beside the catalog's, by what a block is called.
BLOCKS: Final[Mapping[str, Mapping[str, Any]]] = {"own": {}, "16": {"block_size": 16}, "32": {"block_size": 32}}


class Key(NamedTuple):
    """An engine: its blocks, and whether it caches."""

    blocks: str
    caching: bool

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Engine arguments beside the catalog's."""
        return {**BLOCKS[self.blocks], "enable_prefix_caching": self.caching}


class Cell(NamedTuple):
    """One engine's part of a round with one length, and how many prompt tokens of a text it had already."""

    round: Round
    found: float


def before_text(prompt: PairPrompt) -> list[Piece]:
    """Return the pieces that all of a pair's prompts begin with; of the one that holds the text, what is before it."""
    found: list[Piece] = []
    for piece in prompt.pieces(ANY_TEXT):
        if ANY_TEXT in piece.text:
            return [*found, Words(piece.text.partition(ANY_TEXT)[0])]
        found.append(piece)
    return found


def shared_by(family: PromptFamily, pair: LanguagePair) -> list[Piece]:
    """Return what the family's prompts for a pair share before the text, the model's own chat template aside."""
    slots = {"source_code": pair.source, "target_code": pair.target}
    controls = [with_slots(token, slots) for token in family.tokens]
    return before_text(family.for_pair(pair, _no_template, controls))


def _no_template(messages: Sequence[Mapping[str, str]], _arguments: Mapping[str, object]) -> str:
    return "\n".join(message["content"] for message in messages)


def first_tokens(ids: Sequence[int], count: int) -> list[int]:
    """Return so many tokens of an instruction, from its beginning again where it is shorter."""
    return list(itertools.islice(itertools.cycle(ids), count))


def families_table(count: Callable[[str], int]) -> Iterable[str]:
    """Yield the lines of the table of families; ``count`` tells how many tokens words have."""
    yield f"| family | tokens before the text, {PAIR} |"
    yield "|---|---|"
    for name, family in FAMILIES.items():
        pieces = shared_by(family, PAIR)
        yield f"| {name} | {sum(1 if isinstance(piece, Control) else count(piece.text) for piece in pieces)} |"


def line(shared: int, blocks: str, off: Sequence[Cell], on: Sequence[Cell]) -> str:
    """Return the table's line for one length and one size of blocks, without caching and with it."""
    cpu_off, cpu_on = ([cell.round.engine_ms for cell in cells] for cells in (off, on))
    rate_off, rate_on = ([cell.round.rate for cell in cells] for cells in (off, on))
    return (
        f"| {shared} | {blocks} | {mean(cell.found for cell in on):.0f} | "
        f"{spread(cpu_off, 1)} | {spread(cpu_on, 1)} | {spread(ratios(cpu_on, cpu_off), 2)} | "
        f"{median(rate_off):.1f} | {median(rate_on):.1f} | {spread(ratios(rate_on, rate_off), 2)} |"
    )


async def ask(engine: DirectEngine, shared: Sequence[int], texts: Sequence[Sequence[int]], name: str) -> Cell:
    """Ask for the texts, each behind the shared tokens."""
    samplings = [exactly(len(text)) for text in texts]
    found: list[int] = []

    async def one(number: int) -> None:
        made = await engine.answer([*shared, *texts[number]], samplings[number], f"{name}-{number}")
        found.append(made.num_cached_tokens or 0)

    done = await all_asked(len(texts), one, engine.core)
    return Cell(done, sum(found) / len(found))


async def compare(options: argparse.Namespace) -> None:
    """Start every engine, ask all of them in turns, print the tables."""
    entry = chosen_entry(options)
    cells: dict[tuple[int, Key], list[Cell]] = {}
    keys = [Key(blocks, caching) for blocks in options.blocks for caching in (False, True)]
    async with AsyncExitStack() as stack:
        engines = {key: await stack.enter_async_context(running(entry, key.arguments)) for key in keys}
        first = engines[keys[0]]
        words = (piece.text for piece in shared_by(FAMILIES[INSTRUCTION_OF], PAIR) if isinstance(piece, Words))
        instruction = first.encode_text("".join(words))
        longest = longest_text(first.max_model_len, max(options.shared))
        texts = Texts(first, options.pairs, longest)
        for length, key in itertools.product(options.shared, keys):
            await ask(engines[key], first_tokens(instruction, length), texts.take(WARM_UP_TEXTS), "warm")
        for number in range(options.rounds):
            for length in rotated(options.shared, number):
                shared, own = first_tokens(instruction, length), texts.take(options.texts)
                for key in rotated(keys, number):
                    cell = await ask(engines[key], shared, own, f"round-{number}-{length}")
                    cells.setdefault((length, key), []).append(cell)
            sys.stderr.write(f"round {number + 1} of {options.rounds}\n")
        table = list(families_table(lambda words: len(first.encode_text(words))))
    print(
        f"# {entry.name} on {options.device}: {options.rounds} rounds of {options.texts} texts, cut at {longest} tokens\n"
    )
    print("\n".join(table) + "\n")
    print("| shared tokens | blocks | found | engine CPU ms/text: off | on | ratio | texts/s: off | on | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for length, blocks in itertools.product(options.shared, options.blocks):
        off, on = (cells[length, Key(blocks, caching)] for caching in (False, True))
        print(line(length, blocks, off, on))


def rotated(values: Sequence[T], by: int) -> list[T]:
    """Return the values in their order, from another one on."""
    at = by % len(values)
    return [*values[at:], *values[:at]]


def lengths(value: str) -> list[int]:
    """Read numbers of tokens, comma-separated.

    Raises:
        ArgumentTypeError: one of them is negative.
    """
    found = [int(each) for each in value.split(",")]
    if min(found) < 0:
        raise argparse.ArgumentTypeError(f"{min(found)} tokens can not be shared")
    return found


def longest_text(context: int, shared: int) -> int:
    """Return the tokens that a text may have behind the shared ones, so that its answer has room too.

    Raises:
        SystemExit: it may have none.
    """
    longest = min(LONGEST_TEXT, (context - shared) // 2)
    if longest < 1:
        raise SystemExit(f"the model's context is {context} tokens: {shared} shared ones leave no text and answer room")
    return longest


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine_prefix", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    add_arguments(parser, texts=40)
    parser.add_argument("--shared", type=lengths, default=[0, 64, 109, 256], help="tokens (default: 0,64,109,256)")
    parser.add_argument(
        "--blocks", type=some_of(BLOCKS), default=["own", "32"], help="of own, 16, 32 (default: own,32)"
    )
    asyncio.run(compare(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
