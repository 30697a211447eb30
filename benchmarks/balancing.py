"""Latencies of a simulated fleet under four ways to choose a replica, and what a fault in one of two replicas does.

``python -m benchmarks.balancing`` (``make bench-balancing``).
"""

# ruff: noqa: S311 - a simulation

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from random import Random
from statistics import mean, median
from typing import TYPE_CHECKING, Final

from benchmarks.balancing_strategies import LeastConnections, Pairway, RandomChoice, RoundRobin
from benchmarks.fleet_simulation import Kind, Outcome, Simulation, mean_tokens, tokens_per_second

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.fleet_simulation import Strategy

STRATEGIES: Final[dict[str, Callable[[int, Random], Strategy]]] = {
    "random": RandomChoice,
    "round robin": RoundRobin,
    "least connections": LeastConnections,
    "Pairway": Pairway,
}
SPEEDS: Final = (1.0, 0.5, 0.25)
# One replica in a hundred is this slow, and one in a hundred fails at once.
SICK_ONE_IN: Final = 100
SLOW: Final = Kind(speed=1 / 75)
FAILING: Final = Kind(fails=True)
LOADS: Final = (0.3, 0.6, 0.85)
# Of two replicas one has a fault from second 2 to 9; a request takes about 30 ms there.
TWO_SPEED: Final = 8.0
FAULT: Final = (2.0, 9.0)
AFTER_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """Replicas, and which of them are slow or fail."""

    kinds: list[Kind]
    slow: range
    failing: range

    @classmethod
    def mixed(cls, replicas: int, rng: Random, *, sick: bool) -> Fleet:
        """Make a fleet of mixed speeds, with sick ones or without."""
        kinds = [Kind(rng.choice(SPEEDS)) for _ in range(replicas)]
        some = replicas // SICK_ONE_IN if sick else 0
        slow, failing = range(some), range(some, 2 * some)
        for index in slow:
            kinds[index] = SLOW
        for index in failing:
            kinds[index] = FAILING
        return cls(kinds, slow, failing)

    def requests_per_second(self) -> float:
        """Return the requests that the replicas that work can do at most."""
        tokens = sum(tokens_per_second(kind) for kind in self.kinds if not kind.fails)
        return tokens / mean_tokens(Random(0))


def run(name: str, fleet: Fleet, load: float, seed: int, seconds: float, warm_up: float) -> Outcome:
    """Simulate one strategy; the requests are the same for each."""
    strategy = STRATEGIES[name](len(fleet.kinds), Random(seed))
    return Simulation(fleet.kinds, strategy, fleet.requests_per_second() * load, Random(seed)).run(seconds, warm_up)


class _Watched:
    """A strategy, and when it chose what."""

    def __init__(self, inner: Strategy) -> None:
        self._inner = inner
        self.chosen: list[tuple[float, int]] = []
        self.began = inner.began
        self.ended = inner.ended

    def choose(self, chars: int, now: float) -> int | None:
        replica = self._inner.choose(chars, now)
        if replica is not None:
            self.chosen.append((now, replica))
        return replica

    def share(self, replica: int, since: float, until: float) -> float:
        counted = Counter(each for when, each in self.chosen if since <= when < until)
        return counted[replica] / max(1, counted.total())


def fault_shares(name: str, fault: Kind, rate: float, seed: int) -> tuple[float, float]:
    """Return the share that one of two replicas gets while it has a fault, and in the seconds after."""
    watched = _Watched(STRATEGIES[name](2, Random(seed)))
    well = Kind(TWO_SPEED)
    changes = ((FAULT[0], 1, fault), (FAULT[1], 1, well))
    Simulation([well, well], watched, rate, Random(seed)).run(FAULT[1] + AFTER_SECONDS, 0, changes)
    return watched.share(1, *FAULT), watched.share(1, FAULT[1], FAULT[1] + AFTER_SECONDS)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f}" if seconds < float("inf") else "no answer"


def _table(replicas: int, seconds: float, seeds: Sequence[int]) -> None:
    print(
        "| load | fleet | strategy | p50 ms | p95 ms | p99 ms | to slow ones | to failing ones | attempts | no answer |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for load in LOADS:
        for sick in (False, True):
            fleets = [Fleet.mixed(replicas, Random(seed), sick=sick) for seed in seeds]
            for name in STRATEGIES:
                outcomes = [
                    run(name, fleet, load, seed, seconds, seconds / 3)
                    for fleet, seed in zip(fleets, seeds, strict=True)
                ]
                cells = [
                    _milliseconds(median(each.percentile(part) for each in outcomes)) for part in (0.5, 0.95, 0.99)
                ]
                for kind in ("slow", "failing"):
                    shares = [each.share(getattr(own, kind)) for each, own in zip(outcomes, fleets, strict=True)]
                    cells.append(f"{100 * median(shares):.2f} %" if sick else "-")
                cells.append(f"{median(each.attempts_per_request for each in outcomes):.3f}")
                lost = median(each.unanswered / len(each.latencies) for each in outcomes)
                cells.append(f"{100 * lost:.1f} %")
                print(f"| {load:.0%} | {'sick' if sick else 'well'} | {name} | {' | '.join(cells)} |", flush=True)


def _faults(seeds: Sequence[int]) -> None:
    print("| fault | requests/s | strategy | share in the fault | share in the 5 s after |")
    print("|---|---|---|---|---|")
    faults = {
        "75 times slower": Kind(TWO_SPEED / 75),
        "hangs": Kind(TWO_SPEED / 1e6),
        "4 times slower": Kind(TWO_SPEED / 4),
        "fails at once": FAILING,
    }
    for label, fault in faults.items():
        for rate in (10.0, 40.0):
            for name in STRATEGIES:
                shares = zip(*(fault_shares(name, fault, rate, seed) for seed in seeds), strict=True)
                during, after = (f"{100 * mean(each):.1f} %" for each in shares)
                print(f"| {label} | {rate:g} | {name} | {during} | {after} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=9.0, help="of arrivals; the first third does not count")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    _table(given.replicas, given.seconds, range(given.seeds))
    print()
    _faults(range(given.seeds))


if __name__ == "__main__":
    main()
