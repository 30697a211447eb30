"""Reliability: does a confidence mean what it says?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from math import floor
from typing import Final, NamedTuple

from benchmarks.calibration.regression import folds

BINS: Final = 10
LEASTS: Final = (0.3, 0.5, 0.7, 0.9)
# Of good texts at most so many are marked as uncertain, and of bad ones at least so many; else nothing is.
MOST_GOOD_MARKED: Final = 0.05
LEAST_BAD_MARKED: Final = 0.15
# Shares of good texts that a bound aims at: less than the most, because texts that did not choose it have a few more.
AIMS: Final = (0.045, 0.04, 0.035, 0.03)
_ROUNDING: Final = 1000
# The diagram, in pixels.
_SIDE: Final = 320
_MARGIN: Final = 48
_LEGEND: Final = 60
_COLOURS: Final = ("#1b6ca8", "#c2571a", "#2f7d32", "#7b3fa0", "#8a6d00", "#a02c4a", "#00797b", "#5a5a5a")
# Bins with fewer texts are noise, and left out of the diagram.
FEWEST: Final = 20


class Judged(NamedTuple):
    """A text's confidence, and whether its translation is good."""

    confidence: float
    is_good: bool


class Bin(NamedTuple):
    """Texts of about one confidence: their number, mean confidence and share of good ones."""

    texts: int
    confidence: float
    good: float


def auc(judged: Sequence[Judged]) -> float:
    """Return the probability that a good text has more confidence than another; 0.5 without both kinds."""
    bad = sorted(each.confidence for each in judged if not each.is_good)
    good = [each.confidence for each in judged if each.is_good]
    if not bad or not good:
        return 0.5
    wins = sum((bisect_left(bad, value) + bisect_right(bad, value)) / 2 for value in good)
    return wins / (len(bad) * len(good))


def brier(judged: Sequence[Judged]) -> float:
    """Return the mean squared error."""
    return sum((each.confidence - each.is_good) ** 2 for each in judged) / len(judged)


def bins(judged: Iterable[Judged]) -> list[Bin]:
    """Return the texts by tenths of their confidence; empty ones left out."""
    groups: list[list[Judged]] = [[] for _ in range(BINS)]
    for each in judged:
        groups[min(BINS - 1, int(each.confidence * BINS))].append(each)
    return [_bin(group) for group in groups if group]


def calibration_error(judged: Sequence[Judged]) -> float:
    """Return the mean distance of confidence and share, by tenths, weighted by texts."""
    return sum(each.texts * abs(each.confidence - each.good) for each in bins(judged)) / len(judged)


def kept(judged: Sequence[Judged], least: float) -> tuple[float, float]:
    """Return the share of texts with at least this confidence, and that of good ones among them."""
    left = [each for each in judged if each.confidence >= least]
    return len(left) / len(judged), sum(each.is_good for each in left) / max(1, len(left))


class Doubt(NamedTuple):
    """Bound of confidence below which a text is marked, and what it marks of texts it was not chosen by.

    ``bound`` is None if it would mark too few bad texts, or too many good ones.
    """

    bound: float | None
    good: float
    bad: float


def doubt(judged: Sequence[Judged]) -> Doubt:
    """Return the highest bound that marks few good texts."""
    found = [_doubt(judged, aim) for aim in AIMS]
    return next((each for each in found if each.bound is not None), found[-1])


def _doubt(judged: Sequence[Judged], aim: float) -> Doubt:
    """Return the bound of one aim; each fold is marked by the bound of the others."""
    marked: list[Judged] = []
    for held in folds(len(judged)):
        least = _bound((each for index, each in enumerate(judged) if index not in held), aim)
        marked += [judged[index] for index in held if judged[index].confidence < least]
    good = sum(each.is_good for each in judged)
    good_marked = sum(each.is_good for each in marked)
    shares = good_marked / max(1, good), (len(marked) - good_marked) / max(1, len(judged) - good)
    is_useful = shares[0] <= MOST_GOOD_MARKED and shares[1] >= LEAST_BAD_MARKED
    return Doubt(_bound(judged, aim) if is_useful else None, *shares)


def _bound(judged: Iterable[Judged], aim: float) -> float:
    """Return the bound that marks this share of good texts, rounded down."""
    good = sorted(each.confidence for each in judged if each.is_good)
    return floor(good[int(len(good) * aim)] * _ROUNDING) / _ROUNDING if good else 0.0


def _bin(group: Sequence[Judged]) -> Bin:
    number = len(group)
    return Bin(number, sum(each.confidence for each in group) / number, sum(each.is_good for each in group) / number)


def diagram(curves: Mapping[str, Sequence[Judged]], title: str) -> str:
    """Return the reliability diagram as SVG: share of good texts by confidence, a curve for each name."""
    size = _SIDE + 2 * _MARGIN
    middle = _MARGIN + _SIDE / 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size + _LEGEND} {size}" font-family="sans-serif">',
        f'<rect width="{size + _LEGEND}" height="{size}" fill="white"/>',
        f'<text x="{_MARGIN}" y="24">{title}</text>',
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#999"/>',
        f'<path d="{_path([(0, 0), (1, 1)])}" stroke="#999" stroke-dasharray="4" fill="none"/>',
        f'<text x="{middle}" y="{size - 8}" text-anchor="middle">confidence</text>',
        f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">share of good texts</text>',
    ]
    for tick in (0.0, 0.5, 1.0):
        x, y = _at(tick, tick)
        lines += [
            f'<text x="{x:g}" y="{_MARGIN + _SIDE + 16}" text-anchor="middle">{tick:g}</text>',
            f'<text x="{_MARGIN - 6}" y="{y + 4:g}" text-anchor="end">{tick:g}</text>',
        ]
    for number, (name, judged) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = [(each.confidence, each.good) for each in bins(judged) if each.texts >= FEWEST]
        lines.append(f'<path d="{_path(points)}" stroke="{colour}" stroke-width="2" fill="none"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in map(_at_point, points)]
        lines.append(f'<text x="{_MARGIN + _SIDE + 12}" y="{_MARGIN + 14 + 18 * number}" fill="{colour}">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _at(confidence: float, share: float) -> tuple[float, float]:
    return _MARGIN + _SIDE * confidence, _MARGIN + _SIDE * (1 - share)


def _at_point(point: tuple[float, float]) -> tuple[float, float]:
    return _at(*point)


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(map(_at_point, points)))
