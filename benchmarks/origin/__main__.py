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
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from apiserver.catalog.model_entry import ModelEntry
from benchmarks.harness.report import RunFolder
from benchmarks.origin.device_usage import NoGpuError, find_gpu
from benchmarks.origin.model import ANSWER_TOKENS, SHAPES, read_entry, use_random_weights, write_catalog
from benchmarks.origin.processes import TITLES, Designs, environment
from benchmarks.origin.report import judge, report
from benchmarks.origin.rounds import CONCURRENCIES, DESIGNS, OriginBench, RunSelection
from benchmarks.origin.texts import KINDS, is_chosen, text_key
from shared.runtime.process_guard import ProcessGuard

# For the servers' own end when this program was killed.
GRACE_SECONDS = 10.0


def arguments() -> argparse.ArgumentParser:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.origin", description="The origin's experiment.")
    parser.add_argument("--pairs", type=Path, required=True, help="file of english<TAB>other lines, not trained on")
    parser.add_argument("--shape", choices=tuple(SHAPES), help="random weights of this shape in the model's place")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="(default: %(default)s)")
    parser.add_argument("--texts", type=Path, help="file that keeps the chosen texts (default: beside OUT)")
    for name, kind, default, meaning in (
        ("catalog", Path, "deploy/models/demo.yaml", ""),
        ("model", str, "en-de", "of the catalog "),
        ("rounds", int, 5, ""),
        ("seconds", float, 2.5, "that count of each point "),
        ("concurrency", str, ",".join(map(str, CONCURRENCIES)), ""),
        ("open", str, "0.5,1", "open loops, parts of D's best rate "),
        ("architectures", str, ",".join(DESIGNS), ""),
        ("kinds", str, ",".join(KINDS), "of inputs "),
        ("seed", int, 1, ""),
        ("out", Path, ".run/origin", ""),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{meaning}(default: %(default)s)")
    return parser


def choose_texts(texts: Path, entry: ModelEntry, catalog: Path, options: argparse.Namespace) -> None:
    """Make the file of texts, unless there is one that will do."""
    if is_chosen(texts, text_key(entry, options.pairs, options.seed)):
        return
    print("choosing texts", flush=True)
    command = [sys.executable, "-m", "benchmarks.origin.texts", "--catalog", str(catalog), "--out", str(texts)]
    command += ["--pairs", str(options.pairs), "--seed", str(options.seed)]
    with (options.out / "texts.log").open("wb") as log:
        subprocess.run(command, check=True, env=environment(options.device), stderr=log)


async def measure(options: argparse.Namespace, bench: OriginBench) -> None:
    """Start everything and measure the rounds."""
    selection = RunSelection(
        names=[name for name in DESIGNS if name in options.architectures.split(",")],
        concurrencies=[int(one) for one in options.concurrency.split(",")],
        shares=[float(one) for one in options.open.split(",") if one],
        kinds=options.kinds.split(","),
    )
    async with bench.fleet.running(selection.names):
        await bench.warm_up(selection)
        for number in range(options.rounds):
            await bench.round(number, selection)


def main() -> int:
    """Choose the texts, measure, write, print."""
    options = arguments().parse_args()
    if not options.pairs.is_file():
        raise SystemExit(f"bench-origin: there is no {options.pairs}; PAIRS= names the folder of en-de.valid.tsv")
    try:
        read_gpu = find_gpu(options.device)
        folder = RunFolder(options.out)
        options.out = folder.path
        texts: Path = (options.texts or options.out.with_name(f"{options.out.name}-texts.jsonl")).resolve()
        (options.out / "answers").mkdir()
        catalog, model = options.out / "catalog.yaml", options.model
        entry = write_catalog(options.catalog, model, catalog, options.device)
        with ProcessGuard("PAIRWAY_ORIGIN", GRACE_SECONDS):
            choose_texts(texts, entry, catalog, options)
            if options.shape:
                billions = use_random_weights(SHAPES[options.shape], catalog, options.out / options.shape) / 1e9
                model = f"{options.shape}, {billions:.2f} billion random weights, {ANSWER_TOKENS} tokens an answer,"
            began = time.monotonic()
            bench = OriginBench(
                Designs(options.out, catalog, texts, environment(options.device)), options.seconds, read_gpu
            )
            asyncio.run(measure(options, bench))
    except (NoGpuError, ValueError) as error:
        raise SystemExit(f"bench-origin: {error}") from None
    machine = (
        f"{folder.machine}, {options.device}, {time.monotonic() - began:.0f} s; {model} {read_entry(catalog).engine}; "
        f"{options.rounds} rounds, {options.seconds:g} s a point."
    )
    checks, rows = judge(bench.rows), [asdict(row) for row in bench.rows]
    results = {"machine": machine, "targets": list(map(vars, checks)), "rows": rows, "memory": bench.memory}
    status = folder.write(report(machine, bench.rows, checks, bench.memory, TITLES), results, checks)
    subprocess.run([sys.executable, "-m", "benchmarks.origin.plots", str(options.out)], check=False)
    return status


if __name__ == "__main__":
    sys.exit(main())
