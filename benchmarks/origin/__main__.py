"""The origin's experiment: one model, one machine, the same texts, several designs.

    make bench-origin PAIRS=folder                    # everything, some 23 minutes on two cores
    make bench-origin PAIRS=folder DEVICE=cuda SHAPE=llama-1.8b    # random weights of that size (model.py)
    python -m benchmarks.origin --pairs FOLDER/en-de.valid.tsv --rounds 1 --concurrency 1,25,64 --architectures A,D,E,bare

Starts its own servers and leaves none behind. Exit status 1 when a target is missed. The report is OUT/report.md, the
figures OUT/results.json, the plots OUT/*.png; beside them lie every answer's time and the servers' output.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import uvloop

from benchmarks.harness.load import raise_priority
from benchmarks.harness.program import add_names, integers, options_parser
from benchmarks.harness.report import RunFolder
from benchmarks.origin.device_usage import find_gpu
from benchmarks.origin.model import ANSWER_TOKENS, SHAPES, write_catalog
from benchmarks.origin.processes import TITLES, Designs, environment
from benchmarks.origin.report import judge, tables
from benchmarks.origin.rounds import OriginBench, RunSelection
from benchmarks.origin.texts import KINDS, TEXTS, TEXTS_JSON, choose, texts_name
from shared.runtime.process_guard import ProcessGuard

# For the servers' own end when this program was killed.
GRACE_SECONDS = 10.0


def shares(text: str) -> list[float]:
    """Return comma-separated parts, perhaps none."""
    return [float(each) for each in text.split(",") if each]


def arguments() -> argparse.ArgumentParser:
    """Return the command line's options."""
    parser = options_parser("origin", "The origin's experiment.")
    parser.add_argument("--pairs", type=Path, required=True, help="file of english<TAB>other lines, not trained on")
    parser.add_argument("--shape", choices=tuple(SHAPES), help="random weights of this shape in the model's place")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--catalog", type=Path, default="deploy/models/demo.yaml")
    parser.add_argument("--model", default="en-de", help="of the catalog")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.5, help="that count of each point")
    parser.add_argument("--concurrency", type=integers, default="1,2,5,10,25,64", help="of closed loops")
    parser.add_argument("--open", type=shares, default="0.5,1", help="open loops, parts of D's best rate")
    add_names(parser, "--architectures", tuple(TITLES))
    add_names(parser, "--kinds", KINDS)
    parser.add_argument("--texts", type=int, default=TEXTS, help="uniform ones; of other kinds two fifths as many")
    parser.add_argument("--seed", type=int, default=1)
    return parser


async def measure(bench: OriginBench, selection: RunSelection, rounds: int) -> None:
    """Start everything and measure the rounds."""
    async with bench.fleet.running():
        raise_priority()
        await bench.warm_up(selection)
        for number in range(rounds):
            await bench.round(number, selection)


def main() -> int:
    """Choose the texts, measure, write, print."""
    options = arguments().parse_args()
    selection = RunSelection(options.architectures, options.concurrency, options.open, options.kinds)
    if not options.pairs.is_file():
        raise SystemExit(f"bench-origin: there is no {options.pairs}; PAIRS= names the folder of en-de.valid.tsv")
    os.environ.update(environment(options.device))
    try:
        read_gpu, folder = find_gpu(options.device), RunFolder(options.out)
        catalog, model = folder.path / "catalog.yaml", options.model
        entry = write_catalog(options.catalog, model, catalog, options.device)
    except ValueError as error:
        raise SystemExit(f"bench-origin: {error}") from None
    texts = folder.path.with_name(f"{folder.path.name}-{texts_name(entry, options.pairs, options.seed, options.texts)}")
    with ProcessGuard("PAIRWAY_ORIGIN", GRACE_SECONDS):
        if not texts.is_file():
            print("choosing texts", flush=True)
            chosen = asyncio.run(choose(entry, options.pairs, options.seed, options.texts))
            texts.write_bytes(TEXTS_JSON.dump_json(chosen))
        if options.shape:
            entry = write_catalog(options.catalog, model, catalog, options.device, options.shape)
            model = f"{options.shape}, random weights, {ANSWER_TOKENS} tokens an answer,"
        began = time.monotonic()
        designs = Designs(folder.path, catalog, texts, selection.names)
        bench = OriginBench(designs, options.seconds, read_gpu)
        uvloop.run(measure(bench, selection, options.rounds))
    note = (
        f"{options.device}, {time.monotonic() - began:.0f} s; {model} {entry.engine}; "
        f"{options.rounds} rounds, {options.seconds:g} s a point"
    )
    results = {"rows": list(map(asdict, bench.rows)), "memory": bench.memory}
    lines = tables(bench.rows, bench.memory)
    status = folder.publish("The origin's experiment", note, lines, results, judge(bench.rows))
    subprocess.run([sys.executable, "-m", "benchmarks.origin.plots", str(folder.path)], check=False)
    return status


if __name__ == "__main__":
    sys.exit(main())
