"""Which points are measured in which round, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.origin.texts import BOTH, MIXED, UNIFORM

CONCURRENCIES: Final = (1, 2, 5, 10, 25, 64)
DESIGNS: Final = ("A", "B", "C", "D", "E", "F", "bare", "openai")
KINDS: Final = (UNIFORM, MIXED)
# Of two engines against one: few points.
BOTH_CONCURRENCIES: Final = (1, 25, 64)
# Open loops: parts of D's best.
OPEN_SHARES: Final = (0.5, 1.0)
# What the targets compare, and the article. Every other point is measured in the first round alone, for the figures.
PEERS_AT: Final = {"A": (25,), "C": (25,), "D": (25, 64), "F": (25,), "bare": (64,), "openai": (64,)}
# At once in a warm-up: what brings the design's largest batch, and in an open loop.
WARM_UP_AT: Final = {"A": 1, "B": 2, "C": 16}
MAX_CONCURRENCY: Final = max(CONCURRENCIES)


@dataclass(frozen=True)
class Point:
    """One load: closed with ``concurrency`` in flight, or open with ``share`` of D's best rate; who is measured."""

    kind: str
    designs: tuple[str, ...]
    concurrency: int = 0
    share: float = 0.0

    def __str__(self) -> str:
        """Name it."""
        return f"{self.kind} c={self.concurrency}" if self.concurrency else f"{self.kind} open {self.share:g}x"


@dataclass(frozen=True)
class RunSelection:
    """What is wanted: designs, concurrencies of closed loops, shares of D's best rate of open ones, kinds of texts."""

    names: Sequence[str] = DESIGNS
    concurrencies: Sequence[int] = CONCURRENCIES
    shares: Sequence[float] = OPEN_SHARES
    kinds: Sequence[str] = KINDS


def round_points(number: int, selection: RunSelection) -> Iterator[Point]:
    """Yield a round's points; rounds count from 0. Each names its designs in another order than the one before."""
    for turn, (kind, names, concurrency, share) in enumerate(_points(number, selection), number):
        at = turn % len(names)
        yield Point(kind, (*names[at:], *names[:at]), concurrency, share)


def _points(number: int, selection: RunSelection) -> Iterator[tuple[str, list[str], int, float]]:
    names, first = selection.names, number == 0
    others = [name for name in names if name != "F"]
    for kind in selection.kinds:
        for at in selection.concurrencies:
            if wanted := [name for name in others if first or _is_judged(name, at)]:
                yield kind, wanted, at, 0.0
    if {"D", "F"} <= set(names):
        for at in selection.concurrencies:
            if at in BOTH_CONCURRENCIES and (first or _is_judged("F", at)):
                yield BOTH, ["D", "F"], at, 0.0
    if first and "D" in names and UNIFORM in selection.kinds:
        for share in selection.shares:
            yield UNIFORM, others, 0, share


def _is_judged(name: str, concurrency: int) -> bool:
    return name == "E" or concurrency in PEERS_AT.get(name, ())


def warm_up_points(selection: RunSelection) -> Iterator[Point]:
    """Yield a point for each design that its engines meet before the first round."""
    most = MAX_CONCURRENCY if selection.shares else max(selection.concurrencies)
    for name in selection.names:
        yield Point(BOTH if name == "F" else UNIFORM, (name,), min(WARM_UP_AT.get(name, most), most))
