"""``python -m apiserver.catalog check FILE…``: report every issue before a server starts.

Includes vLLM's engine arguments, unlike a server's check at its start: importing vLLM takes many seconds.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from apiserver.catalog import loader
from apiserver.catalog.yaml_file import CatalogError
from apiserver.engine.preloaded import ENVIRONMENT
from apiserver.engine.vllm_engine import argument_types


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the files; return 1 and print each issue if any."""
    parser = argparse.ArgumentParser(prog="python -m apiserver.catalog", description="Check catalogs of models.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="report every issue, including vLLM's engine arguments")
    check.add_argument("files", type=Path, nargs="+", help="catalogs, such as deploy/models/demo.yaml")
    paths: list[Path] = parser.parse_args(arguments).files
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    types = argument_types()
    return max(_check(path, types) for path in paths)


def _check(path: Path, types: Mapping[str, object]) -> int:
    try:
        catalog = loader.read(path, argument_types=types)
    except CatalogError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{path}: no issues in models {', '.join(model.name for model in catalog.models)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
