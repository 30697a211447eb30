"""Fit the confidence of every model of a catalog, and show how far it can be trusted.

    python -m benchmarks.calibration --pairs FOLDER [--catalog deploy/models/demo.yaml] [--models en-de] [--limit 1000]
        [--diagram FILE.svg]

FOLDER holds pairs that the models have not learnt from: SOURCE-TARGET.valid.tsv, lines of source<TAB>target, used in both
directions. Writes ``calibration/NAME.yaml`` beside the catalog, with the directions that have pairs; prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apiserver.catalog import calibration, loader
from apiserver.catalog.calibration import GOOD_CHRF, Calibration, CalibrationFile
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import weights_fingerprint
from apiserver.translation.confidence import uncalibrated
from benchmarks.calibration.regression import fit, out_of_fold
from benchmarks.calibration.reliability import (
    LEASTS,
    Doubt,
    Judged,
    auc,
    bins,
    brier,
    calibration_error,
    diagram,
    doubt,
    kept,
)
from benchmarks.calibration.samples import RECORDER, Measured, measure, read_sides
from benchmarks.harness.engine import running_model
from benchmarks.harness.report import table
from shared.languages import LanguagePair

# Fewer texts of a direction do not decide the coefficients.
FEWEST_TEXTS: Final = 200
SUMMARY_COLUMNS: Final = (
    *("direction", "texts", "good", "AUC", "Brier", "error", "uncalibrated: AUC", "Brier", "error"),
)
DOUBT_COLUMNS: Final = ("direction", "uncertain below", "of good texts", "of bad texts")


@dataclass(frozen=True)
class Direction:
    """A direction's calibration, and its texts' confidences with it and without, by folds."""

    pair: LanguagePair
    texts: int
    calibration: Calibration
    judged: Sequence[Judged]
    uncalibrated: Sequence[Judged]
    doubt: Doubt


def judge(pair: LanguagePair, measured: Sequence[Measured]) -> Direction | None:
    """Return a direction's calibration; None with too few texts."""
    plain = [sample for each in measured if (sample := each.sample) is not None]
    if len(plain) < FEWEST_TEXTS or len({sample.is_good for sample in plain}) < 2:
        return None
    judged = [Judged(value, sample.is_good) for sample, value in zip(plain, out_of_fold(plain), strict=True)]
    raw = [Judged(uncalibrated(sample.signals), sample.is_good) for sample in plain]
    found = doubt(judged)
    fitted = fit(plain).model_copy(update={"uncertain_below": found.bound})
    return Direction(pair, len(plain), fitted, judged, raw, found)


async def calibrate(entry: ModelEntry, options: argparse.Namespace) -> list[Direction]:
    """Measure a model's directions, and write its file."""
    directions: list[Direction] = []
    recorders = {str(pair): RECORDER for pair in entry.all_pairs}
    async with running_model(entry, calibrations=recorders) as model:
        for pair in entry.all_pairs:
            if (sides := read_sides(options.pairs, pair, options.limit)) is None:
                print(f"{pair}: no pairs in {options.pairs}; it stays uncalibrated", flush=True)
                continue
            direction = judge(pair, await measure(model, pair, *sides))
            if direction is None:
                print(f"{pair}: fewer than {FEWEST_TEXTS} texts, or all good or bad; it stays uncalibrated", flush=True)
            else:
                directions.append(direction)
        commit = model.engine.progress().revision
    if directions:
        write(options.catalog, entry, weights_fingerprint(entry, commit), directions)
    return directions


def write(catalog: Path, entry: ModelEntry, fingerprint: str, directions: Sequence[Direction]) -> None:
    """Write a model's file beside the catalog."""
    path = calibration.path_for(catalog, entry.name)
    pairs = {str(direction.pair): direction.calibration for direction in directions}
    content = CalibrationFile(fingerprint=fingerprint, good_chrf=GOOD_CHRF, pairs=pairs)
    facts = ", ".join(f"{each.pair} {each.texts} texts, AUC {auc(each.judged):.3f}" for each in directions)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Made by make calibrate on {time.strftime('%Y-%m-%d')}: {facts}.\n{content.to_yaml()}")
    print(f"written: {path}\n", flush=True)


def summary(direction: Direction) -> list[str]:
    """Return a direction's line of the summary."""
    good = sum(each.is_good for each in direction.judged) / direction.texts
    scores = [
        f"{score:.3f}"
        for judged in (direction.judged, direction.uncalibrated)
        for score in (auc(judged), brier(judged), calibration_error(judged))
    ]
    return [str(direction.pair), str(direction.texts), f"{good:.0%}", *scores]


def marked(direction: Direction) -> list[str]:
    """Return a direction's line of what is marked as uncertain."""
    bound, good, bad = direction.doubt
    return [str(direction.pair), "–" if bound is None else f"{bound:g}", f"{good:.1%}", f"{bad:.1%}"]


def print_report(directions: Sequence[Direction]) -> None:
    """Print the summary, marked texts, the reliability table, and what a least confidence keeps."""
    everything = [each for direction in directions for each in direction.judged]
    print("\n".join(table(SUMMARY_COLUMNS, map(summary, directions))))
    print()
    print("\n".join(table(DOUBT_COLUMNS, map(marked, directions))))
    rows = [(str(each.texts), f"{each.confidence:.2f}", f"{each.good:.2f}") for each in bins(everything)]
    print("\nAll directions, by tenths of confidence:\n")
    print("\n".join(table(("texts", "mean confidence", "share of good texts"), rows)))
    shares = [(f"{least:g}", *(f"{share:.0%}" for share in kept(everything, least))) for least in LEASTS]
    print()
    print("\n".join(table(("min_confidence", "texts returned", "good among them"), shares)))


async def run(options: argparse.Namespace) -> None:
    """Calibrate every model, and report."""
    directions: list[Direction] = []
    for entry in loader.load(options.catalog, options.models):
        directions += await calibrate(entry, options)
    if not directions:
        raise SystemExit("no direction was calibrated")
    print_report(directions)
    if options.diagram is not None:
        curves: Mapping[str, Sequence[Judged]] = {str(each.pair): each.judged for each in directions}
        options.diagram.write_text(diagram(curves, "Confidence against the share of good texts"))


def main() -> None:
    """Calibrate, and print."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.calibration", formatter_class=formatter)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of SOURCE-TARGET.valid.tsv files")
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"))
    parser.add_argument("--models", nargs="*", default=[], help="models of the catalog; none: all")
    parser.add_argument("--limit", type=int, default=1000, help="texts of each direction")
    parser.add_argument("--diagram", type=Path, help="file for the reliability diagram, as SVG")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
