"""Command line of a benchmark, and what surrounds its processes."""

from __future__ import annotations

import argparse
import asyncio
import resource
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from shared.runtime.process_guard import ProcessGuard

# For the servers' own end when the program was killed.
GRACE_SECONDS: Final = 10.0
T = TypeVar("T")


def options_parser(name: str, description: str) -> argparse.ArgumentParser:
    """Return the parser of ``python -m benchmarks.NAME`` with ``--out``; its help shows defaults."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(f"python -m benchmarks.{name}", description=description, formatter_class=formatter)
    parser.add_argument("--out", type=Path, default=Path(".run", name), help="folder of the report")
    return parser


def add_names(parser: argparse.ArgumentParser, option: str, known: Sequence[str]) -> None:
    """Add an option that takes some of the known names, comma-separated; without it all."""

    def names(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := set(chosen) - set(known):
            raise argparse.ArgumentTypeError(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return chosen

    parser.add_argument(option, type=names, default=list(known), help="comma-separated")


def run_guarded(measuring: Coroutine[Any, Any, T]) -> T:
    """Run it; end every process that it started, however this program ends."""
    with ProcessGuard("PAIRWAY_BENCHMARK", GRACE_SECONDS):
        return asyncio.run(measuring)


def integers(text: str) -> list[int]:
    """Return comma-separated whole numbers above 0, rising."""
    values = sorted(set(map(int, text.split(","))))
    if values[0] < 1:
        raise argparse.ArgumentTypeError(f"{values[0]} is not above 0")
    return values


def allow_open_files() -> int:
    """Let this process and its children open as many files as the machine allows; return how many."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
