"""Pick one replica: the best of a few drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

# A newcomer's caches are cold: its weight grows over this time (the bound that recovery has to keep), from this part of it.
SLOW_START_SECONDS: Final = 3.0
WARM_FLOOR: Final = 0.1
# So many replicas are compared: three cut the 99th percentile of two by a quarter (docs/decisions/0013-balancing.md).
CHOICES: Final = 3
# Draws at random before all are looked at. Breakers take at most half of the replicas away: fewer than three of so many
# draws are eligible in 137 of 65,536 picks.
DRAWS: Final = 16
# Then so many in a row are looked at; a look costs some microseconds, and where so many are full, all are.
MAX_EVALUATED: Final = 100
# Scores that differ by no more than this part, or these seconds, are equal: idle replicas share the work, whoever was a
# few milliseconds slower last, which nobody notices.
NEAR: Final = 0.2
NEAR_SECONDS: Final = 0.005


@dataclass(slots=True)  # not frozen: that makes it three times slower to make, and every pick makes three
class Candidate:
    """What speaks for and against one eligible replica.

    ``latency`` seconds per unit of work; ``in_flight`` units of work already there; ``weight`` > 0; ``penalty`` seconds
    added for recent failures; ``warmth`` the part of its weight that a slow start leaves it.
    """

    latency: float
    in_flight: float
    weight: float
    penalty: float
    warmth: float = 1.0


def warmth(age: float) -> float:
    """Return the part of its weight that a replica of this age gets."""
    return min(1.0, WARM_FLOOR + (1 - WARM_FLOOR) * max(0.0, age) / SLOW_START_SECONDS)


def score(candidate: Candidate, work: float) -> float:
    """Return about how many seconds a request would take there, less for a larger weight; lower is better."""
    return candidate.latency * (candidate.in_flight + work) / candidate.weight + candidate.penalty


def pick(urls: Sequence[str], evaluate: Callable[[str], Candidate | None], work: float, rng: Random) -> str | None:
    """Return the best of a few eligible replicas drawn at random, among equals one at random; None: none is eligible.

    ``evaluate`` gives None for a replica that may not be asked; where nearly all of a large fleet may not, those few
    that may can be missed.
    """
    best_url: str | None = None
    best: Candidate | None = None
    best_seconds = 0.0
    seen: list[str] = []
    for url in _draw(urls, rng):
        if url in seen or (candidate := evaluate(url)) is None:
            continue
        # Without the weight, which is a share of the work and no speed.
        seconds = candidate.latency * (candidate.in_flight + work) + candidate.penalty
        if best is None or _is_better(candidate, seconds, best, best_seconds, work, rng):
            best_url, best, best_seconds = url, candidate, seconds
        seen.append(url)
        if len(seen) == CHOICES:
            break
    return best_url


def _is_better(
    candidate: Candidate, seconds: float, best: Candidate, best_seconds: float, work: float, rng: Random
) -> bool:
    """Say whether the candidate is better than the best so far.

    Among equals chance decides by weight, and a replica in its slow start stands back by chance.
    """
    ours, theirs = candidate.warmth, best.warmth
    if ours != theirs and rng.random() >= min(ours, theirs) / max(ours, theirs):
        return ours > theirs
    difference, smaller = (
        (best_seconds - seconds, seconds) if seconds < best_seconds else (seconds - best_seconds, best_seconds)
    )
    if difference <= NEAR_SECONDS or difference <= NEAR * smaller:
        return rng.random() * (candidate.weight + best.weight) < candidate.weight
    if candidate.weight == best.weight == 1.0:  # nearly always, and then the seconds are the score
        return seconds < best_seconds
    return score(candidate, work) < score(best, work)


def _draw(urls: Sequence[str], rng: Random) -> Iterator[str]:
    """Yield URLs at random, some of them twice; in the end as many as may be, in a row from a random start."""
    count = len(urls)
    if count > CHOICES:
        for _ in range(DRAWS):
            yield urls[int(rng.random() * count)]
    start = int(rng.random() * count)
    for index in range(start - min(count, MAX_EVALUATED), start):
        yield urls[index]
