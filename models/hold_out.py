"""Write the pairs of a file that every training run holds out.

    python -m models.hold_out --pairs de=en-de.tsv --out en-de.held-out.tsv

They are a function of the file's texts, so that all sessions measure with the same ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from models.corpus import read_pairs
from models.train import language_file
from models.training.data import HELD_OUT_PAIRS
from models.training.held_out import draw


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the held-out pairs, as ``english<TAB>other<TAB>source`` lines."""
    options = parse(arguments)
    try:
        pairs = draw(read_pairs(options.pairs[1], options.pairs[0]), HELD_OUT_PAIRS)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    lines = (f"{pair.english}\t{pair.other}\t{pair.source}\n" for pair in pairs)
    options.out.write_text("".join(lines), encoding="utf-8")
    print(f"{options.out}: {len(pairs)} pairs")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m models.hold_out", description="Write the pairs of a file that every training run holds out."
    )
    parser.add_argument("--pairs", type=language_file, required=True, metavar="LANGUAGE=FILE", help="all pairs")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
