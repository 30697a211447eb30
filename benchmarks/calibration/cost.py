"""What confidence costs: CPU of the engine and of the API server's part, with it and without.

    python -m benchmarks.calibration.cost --pairs FOLDER [--catalog FILE] [--models en-de] [--texts 300] [--seconds 60]

Rounds alternate in random order; each translates the same texts by the whole pipeline without HTTP. Figures are medians
of the rounds' ratios; those of the least rounds are less disturbed by other work of the machine. Reads the CPU time of
Linux's threads.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from apiserver.catalog import loader
from benchmarks.calibration.samples import read_sides
from benchmarks.harness.engine import LocalModel, TextRequest, running_model
from benchmarks.harness.report import table
from shared.languages import LanguagePair

COLUMNS: Final = (
    *("", "rounds", "engine's CPU ms a text", "API server's", "engine, ratio", "both, ratio"),
    *("least rounds: engine, ratio", "both, ratio"),
)
ORDER_SEED: Final = 3
MAX_ROUNDS: Final = 1000


class Cpu(NamedTuple):
    """CPU seconds of the engine's processes and of this one."""

    engine: float
    server: float

    def since(self, before: Cpu) -> Cpu:
        """Return the seconds since an earlier reading."""
        return Cpu(self.engine - before.engine, self.server - before.server)


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process's threads, to the nanosecond."""
    total = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        try:
            total += int((thread / "schedstat").read_text().split()[0])
        except FileNotFoundError:  # it has ended
            continue
    return total / 1e9


def read_cpu() -> Cpu:
    """Read the CPU time of this process and of its children, the engine's."""
    children = [each.pid for each in psutil.Process().children(recursive=True) if "EngineCore" in _title(each)]
    return Cpu(sum(map(cpu_seconds, children)), cpu_seconds(os.getpid()))


def _title(process: psutil.Process) -> str:
    return process.name() + " ".join(process.cmdline())


async def measure(model: LocalModel, pair: LanguagePair, sources: list[str], seconds: float) -> list[tuple[str, ...]]:
    """Return the table's rows: without confidence, and with it."""
    rounds: dict[bool, list[Cpu]] = defaultdict(list)
    rng, until = random.Random(ORDER_SEED), 0.0  # noqa: S311 - an order, not secrets
    for number in range(MAX_ROUNDS):
        for is_scored in rng.sample((False, True), 2):
            before = read_cpu()
            await model.translate(pair, [TextRequest(source, confidence=is_scored) for source in sources])
            if number:  # the first round warms up
                rounds[is_scored].append(read_cpu().since(before))
        if not number:
            until = time.monotonic() + seconds
        elif time.monotonic() > until:
            break
    rows: list[tuple[str, ...]] = []
    for is_scored, name in ((False, "without"), (True, "with confidence")):
        mine = rounds[is_scored]
        pairs = list(zip(mine, rounds[False], strict=True))
        rows.append(
            (
                name,
                str(len(mine)),
                f"{1000 * statistics.median(each.engine for each in mine) / len(sources):.2f}",
                f"{1000 * statistics.median(each.server for each in mine) / len(sources):.2f}",
                f"{statistics.median(one.engine / other.engine for one, other in pairs):.3f}",
                f"{statistics.median(sum(one) / sum(other) for one, other in pairs):.3f}",
                f"{min(one.engine for one, _ in pairs) / min(other.engine for _, other in pairs):.3f}",
                f"{min(sum(one) for one, _ in pairs) / min(sum(other) for _, other in pairs):.3f}",
            )
        )
    return rows


async def run(options: argparse.Namespace) -> None:
    """Measure the first direction of the first model that has texts."""
    for entry in loader.load(options.catalog, options.models):
        pair = entry.all_pairs[0]
        sides = read_sides(options.pairs, pair, options.texts)
        if sides is not None:
            async with running_model(entry) as model:
                print(f"{entry.name}, {pair}, {len(sides[0])} texts a round\n")
                print("\n".join(table(COLUMNS, await measure(model, pair, sides[0], options.seconds))))
            return
    raise SystemExit(f"{options.pairs} has no pairs for a model of {options.catalog}")


def main() -> None:
    """Measure, and print."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.calibration.cost", formatter_class=formatter)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of SOURCE-TARGET.valid.tsv files")
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"))
    parser.add_argument("--models", nargs="*", default=[], help="models of the catalog; none: all")
    parser.add_argument("--texts", type=int, default=300, help="texts of a round")
    parser.add_argument("--seconds", type=float, default=60, help="how long rounds go on")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
