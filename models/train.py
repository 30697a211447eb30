"""Train a demo translator for English and other languages.

    python -m models.train --recipe models/recipe.toml --train de=tatoeba.tsv --train de=parallel.tsv \
        --valid de=valid.tsv --init models/en-de --out en-de

The loss is that of the translation's tokens, with label smoothing. Muon trains the layers' matrices, AdamW the
embedding and the norms. OUT is a Hugging Face folder for vLLM, of averaged weights in bfloat16; from OUT.checkpoint
another run continues with --resume. A run ends at SIGTERM, at --steps, or with --decay.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import torch

from models.llama import HEAD_SIZE, Shape
from models.training.alignment import Lexicon
from models.training.batches import shuffled
from models.training.data import Data, Epochs
from models.training.initial import Start, from_folder, from_scratch
from models.training.objective import Objective
from models.training.optimisers import Optimisers, Rates
from models.training.recipe import Recipe, read_recipe
from models.training.run import Run, StopSignal
from models.training.swaps import Swapper
from models.training.variation import Variation


def main(arguments: Sequence[str] | None = None) -> None:
    """Train a model with the command line's options."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)  # pyright: ignore[reportUnknownMemberType] - torch's
    try:
        recipe = read_recipe(options.recipe)
        data = Data.read(options.train, options.valid, options.measured)
        start = begin(options, data)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    rates = Rates(options.muon_rate, options.adam_rate, start.progress.step, options.decay)
    optimisers = Optimisers(start.model, rates)
    if start.optimisers is not None:
        optimisers.load(start.optimisers)
    # A resumed run begins another epoch: the pairs are drawn again, which in the mean keeps their weights.
    rng = random.Random(f"{options.seed}/{start.progress.step}")  # noqa: S311 - a reproducible shuffle, no secret
    epochs = prepare(options, data, recipe, start, rng)
    report(data, recipe, start)
    run = Run(
        start,
        optimisers,
        Objective(torch.device(options.device)),
        rates,
        options.out,
        data.validation(start.tokenizer, options.longest, options.tokens),
    )
    stop = StopSignal()
    stop.listen()
    run.train(shuffled(epochs.parts(rng), options.tokens, rng), stop, options.steps)


def begin(options: argparse.Namespace, data: Data) -> Start:
    """Return the start that the options choose; raise ValueError for a wrong file."""
    languages = list(data.pairs)
    texts = (text for pair in data.every_pair() for text in (pair.english, pair.other))
    if options.resume is not None:
        start = Start.resumed(options.resume)
    elif options.init is not None:
        start = from_folder(options.init, languages, texts, options.vocabulary)
    else:
        start = from_scratch(languages, texts, Shape(options.vocabulary, options.width, options.layers, options.inner))
    if set(start.tokenizer.languages) != set(languages):
        raise ValueError(f"{options.resume} knows {', '.join(start.tokenizer.languages)}, not {', '.join(languages)}")
    start.model.to(options.device)
    start.averaged.model.to(options.device)
    return start


def prepare(options: argparse.Namespace, data: Data, recipe: Recipe, start: Start, rng: random.Random) -> Epochs:
    """Return the examples, with lexicons and names learnt from the data."""
    variation = Variation(
        recipe.shares,
        {language: Lexicon.learn(pairs, rng) for language, pairs in data.pairs.items()},
        {language: Swapper.over(pairs) for language, pairs in data.pairs.items()},
    )
    return Epochs(data.every_pair(), recipe, variation, start.tokenizer, options.longest)


def report(data: Data, recipe: Recipe, start: Start) -> None:
    """Print the sizes of the model and its data."""
    parameters = sum(weight.numel() for weight in start.model.parameters())
    pairs = data.every_pair()
    drawn = sum(recipe.weights.get(pair.source, 1.0) for pair in pairs)
    print(f"{parameters:,} parameters; {len(pairs):,} pairs, {drawn:,.0f} in an epoch", flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m models.train",
        description="Train a demo translator for English and other languages, both directions.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--recipe", type=Path, required=True, help="TOML file: weights of sources, shares of variations")
    for name, text in (
        ("--train", "file of english<TAB>other[<TAB>source] lines; may be repeated"),
        ("--valid", "held-out file of the same format, for each language"),
    ):
        add(name, type=language_file, action="append", required=True, metavar="LANGUAGE=FILE", help=text)
    add("--measured", type=Path, nargs="*", default=[], help="files of text[<TAB>...] lines that no pair may have")
    add("--out", type=Path, required=True, help="folder to write")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--init", type=Path, help="begin with this model folder's weights; other languages are possible")
    start.add_argument("--resume", type=Path, help="continue from this checkpoint")
    add("--steps", type=int, help="last step, counted from the very first run")
    add("--decay", type=int, help="steps of this run, in which the learning rate falls to nothing")
    add("--vocabulary", type=int, default=8000, help="size of a new tokenizer in tokens")
    add("--width", type=int, default=256, help=f"hidden size, a multiple of {HEAD_SIZE}")
    add("--layers", type=int, default=6, help="number of layers")
    add("--inner", type=int, default=704, help="size of the inner layers")
    add("--longest", type=int, default=96, help="most tokens on either side of a pair; longer pairs are dropped")
    add("--tokens", type=int, default=4096, help="tokens in a batch, both sides and padding included")
    add("--muon-rate", type=float, default=0.012, help="Muon's learning rate")
    add("--adam-rate", type=float, default=1e-3, help="AdamW's learning rate")
    add("--device", default="cpu", help="torch device, such as cuda")
    add("--threads", type=int, default=1, help="CPU threads")
    add("--seed", type=int, default=0, help="seed of weights and shuffles")
    return parser.parse_args(arguments)


def language_file(argument: str) -> tuple[str, Path]:
    """Return the language and the file of an option's LANGUAGE=FILE."""
    language, equals, file = argument.partition("=")
    if not (language and equals and file):
        raise argparse.ArgumentTypeError(f"{argument!r} must be LANGUAGE=FILE, such as de=pairs.tsv")
    return language, Path(file)


if __name__ == "__main__":
    main()
