"""The origin's experiment: one model, one machine, the same texts, several designs.

    make bench-origin PAIRS=folder                    # everything, some 23 minutes on two cores
    make bench-origin PAIRS=folder DEVICE=cuda SHAPE=llama-1.8b    # random weights of that size (shapes.py)
    python -m benchmarks.origin --pairs FOLDER/en-de.valid.tsv --rounds 1 --concurrency 1,25,64 --architectures A,D,E,bare

Starts its own servers and leaves none behind. Exit status 1 when a target is missed. The report is OUT/report.md, the
figures OUT/results.json, the plots OUT/*.png; beside them lie every answer's time and the servers' output.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from apiserver.catalog.model_entry import ModelEntry
from benchmarks.harness.report import RunFolder
from benchmarks.origin.device_usage import NoGpuError, gpu_readings, require_gpu
from benchmarks.origin.load_points import CONCURRENCIES, DESIGNS, KINDS, RunSelection, seconds_of_load
from benchmarks.origin.processes import TITLES, Designs, environment, running_designs
from benchmarks.origin.report.tables import report
from benchmarks.origin.report.targets import judge
from benchmarks.origin.rounds import OriginBench
from benchmarks.origin.workload.model import read_entry, use_random_weights, write_catalog
from benchmarks.origin.workload.random_weights import ANSWER_TOKENS, SHAPES, missing_for_shape
from benchmarks.origin.workload.text_file import TextPool, header, read, text_spec, write_answered_by
from shared.runtime.process_guard import ProcessGuard

# For the servers' own end when this program was killed.
GRACE_SECONDS = 10.0


def arguments() -> argparse.ArgumentParser:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.origin", description="The origin's experiment.")
    parser.add_argument("--pairs", type=Path, required=True, help="file of english<TAB>other lines, not trained on")
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"), help="(default: %(default)s)")
    parser.add_argument("--model", default="en-de", help="of the catalog (default: %(default)s)")
    shapes = "random weights of this shape in its place (default: its own weights)"
    parser.add_argument("--shape", choices=tuple(SHAPES), help=shapes)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="(default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.5, help="that count of each point (default: %(default)s)")
    parser.add_argument("--concurrency", default=",".join(map(str, CONCURRENCIES)), help="(default: %(default)s)")
    parser.add_argument("--open", default="0.5,1", help="open loops, parts of D's best rate (default: %(default)s)")
    parser.add_argument("--architectures", default=",".join(DESIGNS), help="(default: %(default)s)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of inputs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--texts", type=Path, help="file that keeps the chosen texts (default: beside OUT)")
    parser.add_argument("--out", type=Path, default=Path(".run/origin"), help="(default: %(default)s)")
    return parser


def choose_texts(
    texts: Path, entry: ModelEntry, catalog: Path, options: argparse.Namespace, kinds: Sequence[str]
) -> None:
    """Make the file of texts, unless there is one that will do."""
    concurrencies = [int(one) for one in options.concurrency.split(",")]
    last = {
        kind: seconds_of_load(kind, options.rounds, options.seconds, concurrencies) if kind in kinds else 0.0
        for kind in KINDS
    }
    uniform, mixed = last["uniform"], last["mixed"]
    known = header(texts)
    if known is not None and known.covers(text_spec(entry, options.pairs, options.seed, uniform, mixed)):
        return
    print(f"choosing texts for {uniform:.0f} s of full load, and mixed ones for {mixed:.0f} s", flush=True)
    files = {"--catalog": catalog, "--out": texts, "--pairs": options.pairs}
    values = {**files, "--seed": options.seed, "--uniform": uniform, "--mixed": mixed}
    words = [str(word) for name_and_value in values.items() for word in name_and_value]
    command = [sys.executable, "-m", "benchmarks.origin.workload.text_selection", *words]
    with (options.out / "texts.log").open("wb") as log:
        subprocess.run(command, check=True, env=environment(options.device), stderr=log)


async def measure(options: argparse.Namespace, catalog: Path, texts: Path) -> tuple[OriginBench, str]:
    """Start everything and measure the rounds; say also how nvidia-smi ended before them, ``""`` where it did not.

    Raises:
        NoGpuError: nvidia-smi does not answer.
    """
    selection = RunSelection(
        names=[name for name in DESIGNS if name in options.architectures.split(",")],
        concurrencies=[int(one) for one in options.concurrency.split(",")],
        shares=[float(one) for one in options.open.split(",") if one],
        kinds=options.kinds.split(","),
    )
    fleet = Designs(options.out, catalog, texts, environment(options.device))
    async with gpu_readings(options.device) as gpu, running_designs(fleet, selection.names):
        bench = OriginBench(
            fleet, TextPool(read(texts)), options.seconds, gpu.readings, full_length=options.shape is not None
        )
        await bench.warm_up(selection)
        for number in range(options.rounds):
            await bench.round(number, selection)
    return bench, gpu.ended


def main() -> int:
    """Measure, write, print."""
    options = arguments().parse_args()
    if not options.pairs.is_file():
        raise SystemExit(f"bench-origin: there is no {options.pairs}; PAIRS= names the folder of en-de.valid.tsv")
    try:
        require_gpu(options.device)
        return run(options)
    except NoGpuError as error:
        raise SystemExit(f"bench-origin: {error}") from None


def run(options: argparse.Namespace) -> int:
    """Choose the texts, measure and report; return the exit status.

    Raises:
        NoGpuError: nvidia-smi does not answer.
    """
    folder = RunFolder(options.out)
    options.out = folder.path
    texts: Path = (options.texts or options.out.with_name(f"{options.out.name}-texts.jsonl")).resolve()
    (options.out / "answers").mkdir()
    catalog = options.out / "catalog.yaml"
    entry = write_catalog(options.catalog, options.model, catalog, options.device)
    if options.shape and (lack := missing_for_shape(entry)):
        raise SystemExit(f"bench-origin: --shape cannot take the place of {entry.name}: {lack}")
    with ProcessGuard("PAIRWAY_ORIGIN", GRACE_SECONDS):
        choose_texts(texts, entry, catalog, options, options.kinds.split(","))
        model = options.model
        if options.shape:
            weights = use_random_weights(SHAPES[options.shape], catalog, options.out / options.shape)
            model = f"{options.shape}, {weights / 1e9:.2f} billion random weights, {ANSWER_TOKENS} tokens an answer,"
            chosen, texts = texts, options.out / "texts.jsonl"
            write_answered_by(ANSWER_TOKENS, chosen, texts)
        began = time.monotonic()
        bench, gpu_message = asyncio.run(measure(options, catalog, texts))
    machine = (
        f"{folder.machine}, {options.device}, {time.monotonic() - began:.0f} s; {model} {read_entry(catalog).engine}; "
        f"{options.rounds} rounds, {options.seconds:g} s a point; texts sent twice: {sum(bench.again.values())}."
        f"{f' The GPU was not watched to the end, nvidia-smi ended: {gpu_message}.' if gpu_message else ''}"
    )
    checks = judge(bench.rows)
    results = {
        "machine": machine,
        "targets": [vars(check) for check in checks],
        "rows": [_plain(asdict(row)) for row in bench.rows],
        "memory": bench.memory,
    }
    folder.write(report(machine, bench.rows, checks, bench.memory, TITLES), results)
    subprocess.run([sys.executable, "-m", "benchmarks.origin.report.plots", str(options.out)], check=False)
    return 0 if checks.met else 1


def _plain(row: dict[str, object]) -> dict[str, object]:
    """Return a row for JSON, which has no NaN."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}


if __name__ == "__main__":
    sys.exit(main())
