"""Picks the best of a few replicas drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

# A new replica's caches are cold: its warmth grows to 1.
SLOW_START_SECONDS: Final = 3.0
WARM_FLOOR: Final = 0.1
# Three cut the 99th percentile of two by a quarter at 70 % load (docs/decisions/0013-balancing.md).
CHOICES: Final = 3
# With half of the replicas excluded, 99.8 % of the picks draw three eligible ones.
DRAWS: Final = 16
# If 100 replicas are full, the rest is full too.
MAX_EVALUATED: Final = 100
# Estimated seconds this near are equal, so that idle replicas share the work.
NEAR: Final = 0.2
NEAR_SECONDS: Final = 0.005


@dataclass(slots=True)  # not frozen: frozen is three times slower to create
class EligibleReplica:
    """The properties of a replica that decide its score.

    ``latency``: seconds per unit of work; ``in_flight``: units of work; ``weight`` > 0; ``penalty``: seconds.
    """

    latency: float
    in_flight: float
    weight: float
    penalty: float
    warmth: float = 1.0


def warmth(age: float) -> float:
    """Return the warmth ``age`` seconds after a replica joined."""
    return min(1.0, WARM_FLOOR + (1 - WARM_FLOOR) * max(0.0, age) / SLOW_START_SECONDS)


def score(replica: EligibleReplica, work: float) -> float:
    """Return seconds / weight + penalty; lower is better."""
    return replica.latency * (replica.in_flight + work) / replica.weight + replica.penalty


def pick(
    urls: Sequence[str], evaluate: Callable[[str], EligibleReplica | None], work: float, rng: Random
) -> str | None:
    """Return the best of a few random eligible replicas, or None.

    ``evaluate`` returns None for an ineligible replica. A large fleet's few eligible replicas may be missed.
    """
    best_url: str | None = None
    best: EligibleReplica | None = None
    best_seconds = 0.0
    seen: list[str] = []
    for url in _draw(urls, rng):
        if url in seen or (replica := evaluate(url)) is None:
            continue
        # Without the weight, which says nothing about speed.
        seconds = replica.latency * (replica.in_flight + work) + replica.penalty
        if best is None or _is_better(replica, seconds, best, best_seconds, work, rng):
            best_url, best, best_seconds = url, replica, seconds
        seen.append(url)
        if len(seen) == CHOICES:
            break
    return best_url


def _is_better(
    replica: EligibleReplica, seconds: float, best: EligibleReplica, best_seconds: float, work: float, rng: Random
) -> bool:
    ours, theirs = replica.warmth, best.warmth
    if ours != theirs and rng.random() >= min(ours, theirs) / max(ours, theirs):
        return ours > theirs
    difference, smaller = (
        (best_seconds - seconds, seconds) if seconds < best_seconds else (seconds - best_seconds, best_seconds)
    )
    if difference <= NEAR_SECONDS or difference <= NEAR * smaller:
        return rng.random() * (replica.weight + best.weight) < replica.weight
    if replica.weight == best.weight == 1.0:  # the seconds are the score
        return seconds < best_seconds
    return score(replica, work) < score(best, work)


def _draw(urls: Sequence[str], rng: Random) -> Iterator[str]:
    count = len(urls)
    if count > CHOICES:
        for _ in range(DRAWS):
            yield urls[int(rng.random() * count)]
    start = int(rng.random() * count)
    for index in range(start - min(count, MAX_EVALUATED), start):
        yield urls[index]
