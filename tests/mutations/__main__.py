"""Put faults into a copy of the product, one at a time, and run the tests that are expected to find them.

    python -m tests.mutations                     # all of them, about 20 minutes; not a part of `make test`
    python -m tests.mutations --only keyless-     # those whose names begin so

Exit status 1 if a fault is not found, or its line no longer stands in the product.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.support.processes import ROOT

LIST: Final = Path(__file__).parent / "mutations.yaml"
# Found too: a fault that hangs its tests, which take far less without it.
LIMIT_SECONDS: Final = 900.0
# Installed by `make dev`; ignored by git.
SHARED: Final = (".venv", ".cache")
TAIL_LINES: Final = 30
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+::\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Mutation:
    """A fault: ``old`` stands once in ``file``; pytest's arguments ``tests`` find it."""

    name: str
    file: str
    old: str
    new: str
    tests: str


def mutations(prefix: str = "") -> list[Mutation]:
    """Return the faults whose names begin with ``prefix``."""
    listed = yaml.safe_load(LIST.read_text())
    return [Mutation(name, **fields) for name, fields in listed.items() if name.startswith(prefix)]


def copy_checkout(target: Path) -> None:
    """Copy the files that git knows or would add, and link what is installed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_symlink() or not source.is_file():
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target / name)
    for name in SHARED:
        (target / name).unlink(missing_ok=True)
        (target / name).symlink_to((ROOT / name).resolve())


def outcome_of(mutation: Mutation, checkout: Path, workers: str) -> str:
    """Run the tests with the fault; return which one found it, or what else happened."""
    path = checkout / mutation.file
    text = path.read_text()
    if text.count(mutation.old) != 1:
        return "stale: its line is not in the file, or not once"
    path.write_text(text.replace(mutation.old, mutation.new))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", workers]
    try:
        run = subprocess.run(
            [*command, *mutation.tests.split()],
            cwd=checkout,
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "found by tests that hung"
    finally:
        path.write_text(text)
    if (failed := _FAILED.search(run.stdout)) is not None:
        return f"found by {failed[1]}"
    print("\n".join(run.stdout.splitlines()[-TAIL_LINES:]))
    return "NOT FOUND" if run.returncode == 0 else f"broken: pytest ended with {run.returncode}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Put in each fault; print what became of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument("--only", default="", help="faults whose names begin so (default: all)")
    parser.add_argument("--workers", default="2", help="of pytest (default: %(default)s)")
    options = parser.parse_args(arguments)
    outcomes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="pairway-mutations-") as folder:
        checkout = Path(folder)
        copy_checkout(checkout)
        for mutation in mutations(options.only):
            began = time.monotonic()
            outcomes.append(outcome_of(mutation, checkout, options.workers))
            print(f"{mutation.name}: {outcomes[-1]}, {time.monotonic() - began:.0f} s", flush=True)
    found = sum(each.startswith("found") for each in outcomes)
    print(f"{found} of {len(outcomes)} were found")
    return 0 if outcomes and found == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
