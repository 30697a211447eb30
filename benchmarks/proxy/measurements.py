"""Measurements round by round; their medians, ratios, targets and tables. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.harness.load import LoadResult, failures
from benchmarks.harness.report import NONE, Checks, table
from benchmarks.proxy.peers.definitions import AGAIN, ASGI, BEFORE, DEEPL, DIRECT, LIBRETRANSLATE, OURS, RUST

MEGABYTE: Final = 1 << 20
# Where the targets are judged, and what they are: ours at most so many times a peer's.
JUDGED_AT: Final = 32
MAX_TIMES: Final = {ASGI: 2.0, RUST: 4.0}
# Of ours: what a compatible API may cost at most.
MAX_COMPATIBLE_TIMES: Final = {LIBRETRANSLATE: 1.3, DEEPL: 1.3}
HEADINGS: Final = (
    *("proxy", "CPU µs a request (least – most)", "requests/s", "of direct"),
    *("p50 ms", "p99 ms", "MB, most", "failed"),
)
RATIO_HEADINGS: Final = ("CPU per request", "connections", "rounds", "min", "median", "max")
# Of the end of a log.
MAX_REASON_CHARS: Final = 300


@dataclass(frozen=True)
class ProxyMeasurement:
    """One peer, one round, one number of connections.

    ``cpu_us`` of the whole process tree for each good response, ``rate`` of those a second, latencies in ms, memory in MB.
    """

    peer: str
    round: int
    connections: int
    cpu_us: float
    rate: float
    p50: float
    p99: float
    megabytes: float
    load_cpu_us: float
    errors: dict[str, int]

    @classmethod
    def of(cls, peer: str, number: int, connections: int, load: LoadResult) -> ProxyMeasurement:
        """Take what a load measured."""
        return cls(
            peer=peer,
            round=number,
            connections=connections,
            cpu_us=1e6 * load.server.cpu / (len(load.counted) or math.nan),
            rate=load.rate,
            p50=load.latency_ms(50),
            p99=load.latency_ms(99),
            megabytes=load.server.rss / MEGABYTE,
            load_cpu_us=1e6 * load.cpu / max(1, len(load.samples)),
            errors=failures(sample for sample in load.samples if load.since <= sample.ended < load.until),
        )

    def line(self) -> str:
        """Return what is printed of it."""
        errors = f", failed: {self.errors}" if self.errors else ""
        return (
            f"round {self.round + 1} c={self.connections:<3} {self.peer:14} {self.cpu_us:8.1f} µs {self.rate:8.0f}/s "
            f"p50 {self.p50:.2f} p99 {self.p99:.2f} ms, load {self.load_cpu_us:.0f} µs{errors}"
        )


class Rounds:
    """All measurements."""

    def __init__(self, measurements: Iterable[ProxyMeasurement]) -> None:
        self._measurements = {(each.peer, each.connections, each.round): each for each in measurements}
        self.peers = list(dict.fromkeys(each.peer for each in self))
        self.connections = sorted({each.connections for each in self})

    def __iter__(self) -> Iterator[ProxyMeasurement]:
        return iter(self._measurements.values())

    def of(self, peer: str, connections: int) -> list[ProxyMeasurement]:
        """Return a peer's rounds."""
        return [each for each in self if (each.peer, each.connections) == (peer, connections)]

    def ratios(self, peer: str, other: str, connections: int, figure: str = "cpu_us") -> list[float]:
        """Return the ratio of a figure within each round that has both; NaN where none has."""
        return [
            getattr(each, figure) / value
            for each in self.of(peer, connections)
            if (beside := self._measurements.get((other, connections, each.round)))
            and (value := getattr(beside, figure))
        ] or [math.nan]

    def row(self, peer: str, connections: int) -> tuple[str, ...]:
        """Return a row of the table: medians, and what failed in all rounds."""
        rounds = self.of(peer, connections)
        cpus, is_proxy = [each.cpu_us for each in rounds], peer != DIRECT
        errors = sum((Counter(each.errors) for each in rounds), Counter[str]())
        of_direct = median(self.ratios(peer, DIRECT, connections, "rate"))
        return (
            peer,
            f"{median(cpus):.0f} ({min(cpus):.0f} – {max(cpus):.0f})" if is_proxy else NONE,
            f"{median(each.rate for each in rounds):.0f}",
            NONE if math.isnan(of_direct) else f"{of_direct:.3f}",
            f"{median(each.p50 for each in rounds):.2f}",
            f"{median(each.p99 for each in rounds):.2f}",
            f"{max(each.megabytes for each in rounds):.0f}" if is_proxy else NONE,
            ", ".join(f"{count} {error}" for error, count in errors.items()) or "0",
        )

    def version_rows(self) -> Iterator[tuple[str, ...]]:
        """Yield our proxy's CPU beside that of another checkout, of itself again, and through compatible APIs."""
        for connections in self.connections:
            for other in (each for each in (BEFORE, AGAIN) if each in self.peers):
                ratios = self.ratios(OURS, other, connections)
                figures = (f"{value:.3f}" for value in (min(ratios), median(ratios), max(ratios)))
                yield f"{OURS} / {other}", str(connections), str(len(ratios)), *figures
            for other in (each for each in MAX_COMPATIBLE_TIMES if each in self.peers):
                ratios = self.ratios(other, OURS, connections)
                figures = (f"{value:.3f}" for value in (min(ratios), median(ratios), max(ratios)))
                yield f"{other} / {OURS}", str(connections), str(len(ratios)), *figures


def judge(rounds: Rounds, peers: Sequence[str], connections: Sequence[int]) -> Checks:
    """Hold the measurements against the targets; a wanted peer that is not there misses its target."""
    checks = Checks()
    if OURS not in peers or JUDGED_AT not in connections:
        return checks
    for peer, most in MAX_TIMES.items():
        if peer in peers:
            name = f"CPU per request at c = {JUDGED_AT}, as a part of {peer}'s"
            checks.at_most(name, median(rounds.ratios(OURS, peer, JUDGED_AT)), most)
    for peer, most in MAX_COMPATIBLE_TIMES.items():
        if peer in peers:
            checks.at_most(
                f"CPU per request of {peer}, as a part of ours", median(rounds.ratios(peer, OURS, JUDGED_AT)), most
            )
    failed = sum(sum(each.errors.values()) for each in rounds if each.peer == OURS)
    checks.at_most("requests that failed through ours", failed, 0)
    return checks


def tables(rounds: Rounds, missing: Mapping[str, str]) -> list[str]:
    """Return the lines of all tables."""
    lines: list[str] = []
    for connections in rounds.connections:
        rows = (rounds.row(peer, connections) for peer in rounds.peers if rounds.of(peer, connections))
        lines += [f"## {connections} connection{'s' if connections > 1 else ''}", "", *table(HEADINGS, rows), ""]
    if versions := list(rounds.version_rows()):
        lines += ["## Versions", "", *table(RATIO_HEADINGS, versions), ""]
    if missing:
        lines += ["## Left out", ""]
        lines += [f"* {name}: {' '.join(reason.split())[-MAX_REASON_CHARS:]}" for name, reason in missing.items()]
    return lines
