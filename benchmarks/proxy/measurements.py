"""Measurements round by round, their medians, ratios and targets. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.harness.report import Checks
from benchmarks.proxy.peers.definitions import AGAIN, BEFORE, DIRECT, OURS, PLAIN, RUST

MEGABYTE: Final = 1 << 20
# Where the targets are judged, and what they are.
JUDGED_AT: Final = 32
MAX_OF_RUST: Final = 1.5
MIN_TIMES_LESS_THAN_PLAIN: Final = 20.0


@dataclass(frozen=True)
class ProxyMeasurement:
    """One peer, one round, one number of connections: good responses, errors, seconds, CPU seconds, bytes, ms."""

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
        """CPU microseconds of the whole process tree for each good response."""
        return 1e6 * self.cpu / self.answers if self.answers else math.nan

    @property
    def rate(self) -> float:
        """Good responses a second."""
        return self.answers / self.seconds


@dataclass(frozen=True)
class PeerRow:
    """Medians over the rounds of one peer with so many connections; NaN where nothing was answered."""

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


@dataclass(frozen=True)
class Ratio:
    """CPU per request of one peer as a part of another's, within each round; NaN where no round has both."""

    peer: str
    other: str
    connections: int
    rounds: int
    median: float
    least: float
    most: float


class Rounds:
    """All measurements."""

    def __init__(self, measurements: Iterable[ProxyMeasurement]) -> None:
        self._measurements = {(each.peer, each.connections, each.round): each for each in measurements}

    @property
    def peers(self) -> list[str]:
        """Names, in the order of their first round."""
        return list(dict.fromkeys(peer for peer, _, _ in self._measurements))

    @property
    def connections(self) -> list[int]:
        """Numbers of connections that were tried, rising."""
        return sorted({connections for _, connections, _ in self._measurements})

    def of(self, peer: str, connections: int) -> list[ProxyMeasurement]:
        """Return a peer's rounds."""
        return [each for key, each in self._measurements.items() if key[:2] == (peer, connections)]

    def ratios(
        self, peer: str, other: str, connections: int, value: Callable[[ProxyMeasurement], float]
    ) -> list[float]:
        """Return the ratio within each round that has both."""
        return [
            value(each) / value(beside)
            for each in self.of(peer, connections)
            if (beside := self._measurements.get((other, connections, each.round))) is not None and value(beside)
        ]

    def cpu_ratio(self, peer: str, other: str, connections: int) -> Ratio:
        """Return the ratio of CPU per request."""
        ratios = self.ratios(peer, other, connections, lambda each: each.cpu_us) or [math.nan]
        return Ratio(peer, other, connections, len(ratios), median(ratios), min(ratios), max(ratios))

    def version_ratios(self) -> list[Ratio]:
        """Return our proxy's CPU beside that of another checkout, and of itself a second time."""
        others = [other for other in (BEFORE, AGAIN) if other in self.peers]
        return [self.cpu_ratio(OURS, other, connections) for connections in self.connections for other in others]

    def row(self, peer: str, connections: int) -> PeerRow:
        """Return a row of the table."""
        rounds = self.of(peer, connections)
        cpus = [each.cpu_us for each in rounds]
        errors: dict[str, int] = {}
        for each in rounds:
            for error, count in each.errors.items():
                errors[error] = errors.get(error, 0) + count
        of_direct = self.ratios(peer, DIRECT, connections, lambda each: each.rate)
        return PeerRow(
            peer,
            connections,
            median(cpus),
            (min(cpus), max(cpus)),
            median(each.rate for each in rounds),
            median(of_direct) if of_direct else math.nan,
            median(each.p50 for each in rounds),
            median(each.p99 for each in rounds),
            max(each.rss for each in rounds) / MEGABYTE,
            errors,
        )

    def rows(self, connections: int) -> list[PeerRow]:
        """Return the rows of one table."""
        return [self.row(peer, connections) for peer in self.peers if self.of(peer, connections)]


def judge(rounds: Rounds, peers: Sequence[str], connections: Sequence[int]) -> Checks:
    """Hold the measurements against the targets; a wanted peer that is not there misses its target."""
    checks = Checks()
    if OURS not in peers or JUDGED_AT not in connections:
        return checks
    if RUST in peers:
        name = f"CPU per request at c = {JUDGED_AT}, as a part of {RUST}'s"
        checks.at_most(name, rounds.cpu_ratio(OURS, RUST, JUDGED_AT).median, MAX_OF_RUST)
    if PLAIN in peers:
        name = f"CPU per request at c = {JUDGED_AT}: {PLAIN}'s as a multiple of ours"
        checks.at_least(name, rounds.cpu_ratio(PLAIN, OURS, JUDGED_AT).median, MIN_TIMES_LESS_THAN_PLAIN)
    failed = sum(sum(each.errors.values()) for number in rounds.connections for each in rounds.of(OURS, number))
    checks.at_most("requests that failed through ours", failed, 0)
    return checks
