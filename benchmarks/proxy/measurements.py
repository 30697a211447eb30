"""What was found, round by round, and what it comes to. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.proxy.peers.definitions import DIRECT, OURS, PLAIN, RUST
from tests.faults.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MEGABYTE: Final = 1 << 20
# Where the targets are judged, and what they are.
JUDGED_AT: Final = 32
MOST_OF_RUST: Final = 1.5
LEAST_LESS_THAN_PLAIN: Final = 20.0


@dataclass(frozen=True)
class Found:
    """One peer, one round, one number of connections: good answers, what else came, seconds, CPU seconds, bytes, ms."""

    peer: str
    round: int
    connections: int
    answers: int
    errors: dict[str, int]
    seconds: float
    cpu: float
    rss: int
    p50: float
    p99: float
    load_cpu: float

    @property
    def cpu_us(self) -> float:
        """CPU microseconds of the whole process tree for each good answer."""
        return 1e6 * self.cpu / self.answers if self.answers else math.nan

    @property
    def rate(self) -> float:
        """Good answers a second."""
        return self.answers / self.seconds


@dataclass(frozen=True)
class Row:
    """Medians over the rounds of one peer with so many connections; nan where nothing was answered."""

    peer: str
    connections: int
    cpu_us: float
    cpu_range: tuple[float, float]
    rate: float
    of_direct: float
    p50: float
    p99: float
    rss_mb: float
    errors: dict[str, int]


class Rounds:
    """All that was found."""

    def __init__(self, found: Iterable[Found]) -> None:
        """Take it, in any order."""
        self._found = {(each.peer, each.connections, each.round): each for each in found}

    @property
    def peers(self) -> list[str]:
        """Names, in the order of their first round."""
        return list(dict.fromkeys(peer for peer, _, _ in self._found))

    @property
    def connections(self) -> list[int]:
        """Numbers of connections that were tried, rising."""
        return sorted({connections for _, connections, _ in self._found})

    def of(self, peer: str, connections: int) -> list[Found]:
        """Return a peer's rounds."""
        return [each for key, each in self._found.items() if key[:2] == (peer, connections)]

    def ratio(self, peer: str, other: str, connections: int, value: Callable[[Found], float]) -> float:
        """Return the median of the ratios within each round that has both; nan where none has."""
        ratios = [
            value(each) / value(beside)
            for each in self.of(peer, connections)
            if (beside := self._found.get((other, connections, each.round))) is not None and value(beside)
        ]
        return median(ratios) if ratios else math.nan

    def row(self, peer: str, connections: int) -> Row:
        """Return a line of the table."""
        found = self.of(peer, connections)
        cpus = [each.cpu_us for each in found]
        errors: dict[str, int] = {}
        for each in found:
            for error, count in each.errors.items():
                errors[error] = errors.get(error, 0) + count
        return Row(
            peer,
            connections,
            median(cpus),
            (min(cpus), max(cpus)),
            median(each.rate for each in found),
            self.ratio(peer, DIRECT, connections, lambda each: each.rate),
            median(each.p50 for each in found),
            median(each.p99 for each in found),
            max(each.rss for each in found) / MEGABYTE,
            errors,
        )

    def rows(self, connections: int) -> list[Row]:
        """Return the lines of one table."""
        return [self.row(peer, connections) for peer in self.peers if self.of(peer, connections)]


def judged(rounds: Rounds, asked: Sequence[str], connections: Sequence[int]) -> Result:
    """Hold what was found against the targets; a peer that was asked for and is not there keeps no promise."""
    found = Result("proxy")
    if OURS not in asked or JUDGED_AT not in connections:
        return found

    def cpu(peer: str, other: str) -> float:
        return rounds.ratio(peer, other, JUDGED_AT, lambda each: each.cpu_us)

    if RUST in asked:
        what = f"CPU per request at c = {JUDGED_AT}, as a part of {RUST}'s"
        found.promise(what, found=cpu(OURS, RUST), at_most=MOST_OF_RUST)
    if PLAIN in asked:
        what = f"CPU per request at c = {JUDGED_AT}: {PLAIN}'s as a multiple of ours"
        found.promise_at_least(what, found=cpu(PLAIN, OURS), at_least=LEAST_LESS_THAN_PLAIN)
    ours = sum(sum(each.errors.values()) for number in rounds.connections for each in rounds.of(OURS, number))
    found.promise("requests that failed through ours", found=ours, at_most=0)
    return found
