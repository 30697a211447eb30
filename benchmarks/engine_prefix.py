"""Prefix caching on and off, in turns: what an instruction before every text costs, by its length.

    python -m benchmarks.engine_prefix [--catalog deploy/models/demo.yaml] [--model NAME] [--pairs FILE]
                                       [--shared 0,64,128,256] [--engines off,on,off-32,on-32] [--rounds 5] [--texts 60]
                                       [--device cpu|cuda]

Every prompt is the same instruction's first tokens and then a text of its own; the answer has as many tokens as the text,
whatever they say (the demo model's say nothing), so that all engines do the same work. Engines are started before the
first round and stay up; each round has other texts, and the order of engines and lengths rotates. The instruction has
been seen before the first round: what is measured is the state of a server that is up.
Prints Markdown: what each prompt family shares before its text, then medians of the rounds with least and most; ratios
are to the engine without caching that is like it, in the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiserver.families import FAMILIES
from apiserver.prompt import Control, Words
from apiserver.template import with_slots
from benchmarks.engine_direct import LONGEST_TEXT, DirectEngine, Texts, add_arguments, chosen_entry, exactly, running
from benchmarks.engine_rounds import Round, all_asked, ratios, spread
from shared.languages import LanguagePair

if TYPE_CHECKING:
    from apiserver.prompt import PairPrompt, Piece, PromptFamily

WARM_UP_TEXTS: Final = 10
# Stands for a text; no family's wording has it.
ANY_TEXT: Final = "\N{OBJECT REPLACEMENT CHARACTER}"
PAIR: Final = LanguagePair("en", "de")
# The longest of all families: what the prompts begin with, over and over where that is not enough.
INSTRUCTION_OF: Final = "translategemma"


class Setting(NamedTuple):
    """Engine arguments beside the catalog's, and the setting that it is compared with."""

    arguments: Mapping[str, Any]
    beside: str


SETTINGS: Final[Mapping[str, Setting]] = {
    "off": Setting({"enable_prefix_caching": False}, "off"),
    "on": Setting({"enable_prefix_caching": True}, "off"),
    "off-32": Setting({"enable_prefix_caching": False, "block_size": 32}, "off-32"),
    "on-32": Setting({"enable_prefix_caching": True, "block_size": 32}, "off-32"),
}


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


def line(length: int, name: str, cells: Sequence[Cell], beside: Sequence[Cell]) -> str:
    """Return an engine's line of the table for one length; ``beside`` are the cells that it is compared with."""
    own, others = [cell.round for cell in cells], [cell.round for cell in beside]
    cpu = ratios([each.engine_ms for each in own], [each.engine_ms for each in others])
    rate = ratios([each.rate for each in own], [each.rate for each in others])
    found = sum(cell.found for cell in cells) / len(cells)
    return (
        f"| {length} | {name} | {found:.0f} | {spread([each.engine_ms for each in own], 1)} | {spread(cpu, 2)} | "
        f"{spread([each.rate for each in own], 1)} | {spread(rate, 2)} |"
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
    cells: dict[tuple[int, str], list[Cell]] = {}
    async with AsyncExitStack() as stack:
        engines = {
            name: await stack.enter_async_context(running(entry, SETTINGS[name].arguments)) for name in options.engines
        }
        first = next(iter(engines.values()))
        words = (piece.text for piece in shared_by(FAMILIES[INSTRUCTION_OF], PAIR) if isinstance(piece, Words))
        known = first.encode_text("".join(words))
        longest = min(LONGEST_TEXT, (first.max_model_len - max(options.shared)) // 2)
        texts = Texts(first, options.pairs, longest)
        asked = [(length, name) for length in options.shared for name in engines]
        for length, name in asked:
            await ask(engines[name], first_tokens(known, length), texts.take(WARM_UP_TEXTS), "warm")
        for number in range(options.rounds):
            by_length = {length: texts.take(options.texts) for length in options.shared}
            shift = number * (len(engines) + 1) % len(asked)  # another length first, and another engine
            for length, name in asked[shift:] + asked[:shift]:
                shared = first_tokens(known, length)
                cell = await ask(engines[name], shared, by_length[length], f"round-{number}-{length}")
                cells.setdefault((length, name), []).append(cell)
            sys.stderr.write(f"round {number + 1} of {options.rounds}\n")
        table = list(families_table(lambda text: len(first.encode_text(text))))
    print(
        f"# {entry.name} on {options.device}: {options.rounds} rounds of {options.texts} mixed texts, cut at {longest} tokens\n"
    )
    print("\n".join(table) + "\n")
    print("| shared tokens | engine | of them found | engine CPU ms/text | ratio | texts/s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for length, name in asked:
        print(line(length, name, cells[length, name], cells[length, SETTINGS[name].beside]))


def names(value: str) -> list[str]:
    """Read names of settings, comma-separated, each with the one that it is compared with."""
    found = value.split(",")
    if unknown := set(found) - SETTINGS.keys():
        message = f"no setting is called {', '.join(sorted(unknown))}; there are {', '.join(SETTINGS)}"
        raise argparse.ArgumentTypeError(message)
    if alone := [name for name in found if SETTINGS[name].beside not in found]:
        raise argparse.ArgumentTypeError(f"{alone[0]} is compared with {SETTINGS[alone[0]].beside}: name that too")
    return found


def lengths(value: str) -> list[int]:
    """Read numbers of tokens, comma-separated."""
    return [int(each) for each in value.split(",")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine_prefix", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    add_arguments(parser, texts=60)
    parser.add_argument("--shared", type=lengths, default=[0, 64, 128, 256], help="tokens (default: %(default)s)")
    parser.add_argument("--engines", type=names, default=list(SETTINGS), help="comma-separated (default: all)")
    asyncio.run(compare(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
