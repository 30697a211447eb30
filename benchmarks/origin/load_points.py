"""Which points are measured in which round, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.origin.workload.candidate_texts import MIXED, UNIFORM
from benchmarks.origin.workload.text_file import BOTH

CONCURRENCIES: Final = (1, 2, 5, 10, 25, 64)
DESIGNS: Final = ("A", "B", "C", "D", "E", "F", "bare", "openai")
KINDS: Final = (UNIFORM, MIXED)
# Of two engines against one: few points.
BOTH_CONCURRENCIES: Final = (1, 25, 64)
# Open loops: parts of D's best.
OPEN_SHARES: Final = (0.5, 1.0)
# What the targets compare, and the article. Every other point is measured in the first round alone, for the figures.
PEERS_AT: Final = {
    "A": (25,),
    "C": (25,),
    "D": (25, 64),
    "F": (25,),
    "bare": (64,),
    "openai": (64,),
}
# At once in a warm-up: what brings the design's largest batch, and in an open loop.
WARM_UP_AT: Final = {"A": 1, "B": 2, "C": 16}
MAX_CONCURRENCY: Final = max(CONCURRENCIES)
# The rate at a concurrency as a part of the best one, roughly: how many texts a point needs.
HALF_RATE_AT: Final = 6.0
# Seconds of a point beyond those that count: warm-up and last answers of a batching design.
BEYOND_SECONDS: Final = 2.5
# The rate may be better than it was when the texts were chosen.
MARGIN: Final = 1.25


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
    turn, names = number, selection.names
    for kind in selection.kinds:
        for concurrency in selection.concurrencies:
            text_spec = [name for name in names if name != "F" and (number == 0 or _is_judged(name, concurrency))]
            if text_spec:
                yield Point(kind, rotated(text_spec, turn), concurrency)
                turn += 1
    if {"D", "F"} <= set(names):
        for concurrency in BOTH_CONCURRENCIES:
            if concurrency in selection.concurrencies and (number == 0 or _is_judged("F", concurrency)):
                yield Point(BOTH, rotated(["D", "F"], turn), concurrency)
                turn += 1
    if number == 0 and "D" in names and UNIFORM in selection.kinds:
        for share in selection.shares:
            yield Point(UNIFORM, rotated([name for name in names if name != "F"], turn), 0, share)
            turn += 1


def warm_up_points(selection: RunSelection) -> Iterator[Point]:
    """Yield a point for each design that its engines meet before the first round."""
    most = MAX_CONCURRENCY if selection.shares else max(selection.concurrencies)
    for name in selection.names:
        yield Point(BOTH if name == "F" else UNIFORM, (name,), min(WARM_UP_AT.get(name, most), most))


def rotated(names: Sequence[str], turn: int) -> tuple[str, ...]:
    """Return the names, begun at another one each turn."""
    at = turn % len(names)
    return (*names[at:], *names[:at])


def seconds_of_load(kind: str, rounds: int, seconds: float, concurrencies: Sequence[int]) -> float:
    """Return for how many seconds of full load a kind's texts must last."""
    closed = sum(concurrency / (concurrency + HALF_RATE_AT) for concurrency in concurrencies)
    # Those of two pairs take half of theirs from the uniform ones.
    pairs = 0.5 * (len(BOTH_CONCURRENCIES) + rounds - 1)
    first = (pairs + 1 + sum(OPEN_SHARES)) if kind == UNIFORM else 0.0
    return MARGIN * (rounds * closed + first) * (seconds + BEYOND_SECONDS)


def _is_judged(name: str, concurrency: int) -> bool:
    return name == "E" or concurrency in PEERS_AT.get(name, ())
