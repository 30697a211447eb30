"""Sizing: how many replicas a fleet needs for so many requests a second at a p95, by a simulation driven by measurements.

    make plan RATE=100 P95=1.0 MEASURED=FILE
    python -m benchmarks.sizing --rate 100 --p95 1.0 --measured FILE [--limit 10000]

FILE is one replica's measured figures (see benchmarks/sizing/replica_model.py; ``python -m benchmarks.sizing.measure`` makes one),
or a results.json of ``make bench-overload``. Prints the smallest fleet that keeps the promise, the one that still keeps it
when a replica is lost, and their neighbours. Exit status 1 where no fleet of up to ``--limit`` replicas does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.sizing.planner import plan, report
from benchmarks.sizing.replica_model import ReplicaMeasurements, ReplicaModel

# The lengths of bench-overload's requests (benchmarks/harness/texts.py, Tatoeba's en-de sentences), each the mean of a
# twentieth of 4,000 of them.
OVERLOAD_CHARS: Final = (42, 49, 53, 57, 60, 63, 67, 70, 73, 77, 81, 86, 92, 101, 113, 127, 158, 228, 314, 409)


def read(file: Path, most_segments: int) -> ReplicaMeasurements:
    """Read either kind of file."""
    text = file.read_text()
    if '"loads"' in text:
        return ReplicaMeasurements.of_overload(text, most_segments, [(1.0, chars) for chars in OVERLOAD_CHARS])
    return ReplicaMeasurements.model_validate_json(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Search and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizing", description="How many replicas.")
    parser.add_argument("--rate", type=float, required=True, help="requests a second")
    parser.add_argument("--p95", type=float, required=True, help="seconds that 95 %% of them may take")
    parser.add_argument("--measured", type=Path, required=True, help="what one replica was measured to do")
    parser.add_argument(
        "--segments", type=int, default=16, help="max_num_seqs, with a results.json (default: %(default)s)"
    )
    parser.add_argument("--limit", type=int, default=2000, help="most replicas to think of (default: %(default)s)")
    options = parser.parse_args(arguments)
    measured = read(options.measured, options.segments)
    replica = ReplicaModel.of(measured)
    print(f"{measured.what}\n")
    chosen = plan(replica, options.rate, options.p95, options.limit)
    if chosen is None:
        print(
            f"No fleet of up to {options.limit} replicas has a p95 of {options.p95:g} s: the requests take longer alone."
        )
        return 1
    print(report(replica, chosen, options.rate, options.p95))
    return 0


if __name__ == "__main__":
    sys.exit(main())
