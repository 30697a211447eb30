"""Measurements of the scale benchmark, their targets and tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median, quantiles
from typing import Any, Final

from benchmarks.harness.report import Checks, table, target_table

# Targets: a pick, and a sweep over 200 replicas in a quarter of a CPU second, over more in proportion.
MAX_PICK_US: Final = 5.0
MAX_SWEEP_CPU_SECONDS_PER_REPLICA: Final = 0.25 / 200


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing: the median and the 99th percentile."""

    p50: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Take at least one value."""
        return cls(median(values), quantiles(values, n=100, method="inclusive")[98] if len(values) > 1 else values[0])

    def line(self, unit: str = "", digits: int = 1) -> str:
        """Show both."""
        return f"{self.p50:.{digits}f} / {self.p99:.{digits}f}{unit}"


@dataclass(frozen=True, slots=True)
class Sweep:
    """One sweep: CPU seconds of the proxy's process, seconds that it took, the longest pause of its event loop."""

    cpu: float
    wall: float
    pause: float


@dataclass(frozen=True, slots=True)
class IdleProxy:
    """A real proxy without requests, for some seconds: CPU seconds a second, resident MB, whether it holds the leader lease.

    ``health_bytes`` and ``health_ms`` are of its ``/health`` by HTTP, ``page_cpu_ms`` the CPU that one costs it.
    """

    leads: bool
    cpu: float
    rss_mb: float
    health_bytes: int
    health_ms: float
    page_cpu_ms: float


@dataclass(slots=True)
class FleetMeasurements:
    """Everything about one shape of fleet. Picks in microseconds by what was picked from."""

    shape: str
    replicas: int
    picks: dict[str, Spread] = field(default_factory=dict[str, Spread])
    sweeps: dict[str, list[Sweep]] = field(default_factory=dict[str, "list[Sweep]"])
    redis: dict[str, float] = field(default_factory=dict[str, float])
    builds_ms: dict[str, float] = field(default_factory=dict[str, float])
    proxies: list[IdleProxy] = field(default_factory=list[IdleProxy])
    reports_per_second: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return every figure."""
        return asdict(self)

    def judge(self, checks: Checks) -> None:
        """Add the targets."""
        for name, spread in self.picks.items():
            if name.startswith("pick"):
                checks.at_most(f"{self.shape}: {name}, median", spread.p50, MAX_PICK_US, " µs")
        for name, sweeps in self.sweeps.items():
            cpu = median(each.cpu for each in sweeps)
            checks.at_most(f"{self.shape}: {name}, CPU", cpu, MAX_SWEEP_CPU_SECONDS_PER_REPLICA * self.replicas, " s")

    def lines(self) -> list[str]:
        """Return the tables."""
        return [
            f"## {self.shape}",
            "",
            *table(("a request's share", "µs, p50 / p99"), ((name, s.line()) for name, s in self.picks.items())),
            "",
            *table(("sweep", "CPU s", "seconds", "longest pause ms"), map(_sweep_row, self.sweeps.items())),
            "",
            *table(("in memory", "ms"), ((name, f"{ms:.1f}") for name, ms in self.builds_ms.items())),
            "",
            *table(("Redis", ""), ((name, f"{value:,.0f}") for name, value in self.redis.items())),
            "",
            f"{len(self.proxies)} real proxies without requests; reports a second: {self.reports_per_second:.0f}",
            "",
            *table(
                ("proxy", "CPU s a second", "MB", "/health bytes", "/health ms", "CPU ms each"),
                (
                    ("leads" if each.leads else "follows", f"{each.cpu:.2f}", f"{each.rss_mb:.0f}", f"{each.health_bytes:,}",
                     f"{each.health_ms:.0f}", f"{each.page_cpu_ms:.1f}")
                    for each in self.proxies
                ),
            ),
            "",
        ]  # fmt: skip


def _sweep_row(row: tuple[str, list[Sweep]]) -> tuple[str, ...]:
    name, sweeps = row
    cpu, wall = (median(getattr(each, what) for each in sweeps) for what in ("cpu", "wall"))
    return name, f"{cpu:.2f}", f"{wall:.2f}", f"{1000 * median(each.pause for each in sweeps):.0f}"


def report(fleets: Sequence[FleetMeasurements], checks: Checks, machine: str) -> str:
    """Return the whole report in Markdown."""
    lines = [line for fleet in fleets for line in fleet.lines()]
    return "\n".join(["# Scale", "", machine, "", *lines, *target_table(checks), ""])


def by_kind(sizes: Mapping[str, int], prefix: str) -> dict[str, float]:
    """Return how many keys of each kind there are, and the bytes they take, by the part of the name after the prefix."""
    totals: dict[str, float] = {}
    for key, size in sizes.items():
        kind = key.removeprefix(prefix).split(":")[0]
        totals[f"keys {kind}"] = totals.get(f"keys {kind}", 0) + 1
        totals[f"bytes {kind}"] = totals.get(f"bytes {kind}", 0) + size
    return dict(sorted(totals.items()))
