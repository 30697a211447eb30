"""Pick one replica: the best of a few drawn at random, the power of two choices. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

# A newcomer's caches are cold and nothing is known of it: its weight grows over this time (the bound that recovery has to
# keep; Envoy and HAProxy ramp too), from this part of it (Envoy's default is a tenth too).
SLOW_START_SECONDS: Final = 3.0
WARM_FLOOR: Final = 0.1
# So many replicas are compared. Two is what has a name and ends the herd (Mitzenmacher); but where a third of the fleet is
# slow, both of two are slow in every ninth pick, and that is the 99th percentile. Three cut it by a quarter and still do
# not herd with four proxies that know nothing of each other (docs/decisions/0013-balancing.md).
CHOICES: Final = 3
# How often a replica is drawn at random before all are looked at. The breakers take at most half of a pair's replicas
# away; of so many draws then fewer than three are eligible in 137 of 65,536 picks.
DRAWS: Final = 16
# Then so many in a row are looked at; a look costs some microseconds, and where so many are full, all are.
MOST_LOOKS: Final = 100
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
    """Return what part of its weight a replica has that joined so many seconds ago."""
    return min(1.0, WARM_FLOOR + (1 - WARM_FLOOR) * max(0.0, age) / SLOW_START_SECONDS)


def score(candidate: Candidate, work: float) -> float:
    """Return about how many seconds a request of that work would take there, less for a larger weight; lower is better."""
    return candidate.latency * (candidate.in_flight + work) / candidate.weight + candidate.penalty


def pick(urls: Sequence[str], look: Callable[[str], Candidate | None], work: float, rng: Random) -> str | None:
    """Return the best of a few eligible replicas drawn at random; None: none is eligible.

    ``look`` gives None for a replica that may not be asked; where nearly all of a large fleet may not, those few that may
    can be missed. Among equals one at random.
    """
    best: str | None = None
    held: Candidate | None = None
    least = 0.0
    seen: list[str] = []
    for url in _draws(urls, rng):
        if url in seen or (candidate := look(url)) is None:
            continue
        # Without the weight, which is a share of the work and no speed.
        seconds = candidate.latency * (candidate.in_flight + work) + candidate.penalty
        if held is None or _prefers(candidate, seconds, held, least, work, rng):
            best, held, least = url, candidate, seconds
        seen.append(url)
        if len(seen) == CHOICES:
            break
    return best


def _prefers(one: Candidate, seconds: float, other: Candidate, least: float, work: float, rng: Random) -> bool:
    """Say whether the one, with so many seconds, is a better choice than the other.

    Among equals chance decides by their weights, and a replica in its slow start stands back by chance: an idle fleet's
    scores differ by so little that a weight in them would leave one nothing at all, or everything.
    """
    if one.warmth != other.warmth and rng.random() >= min(one.warmth, other.warmth) / max(one.warmth, other.warmth):
        return one.warmth > other.warmth
    apart, smaller = (least - seconds, seconds) if seconds < least else (seconds - least, least)
    if apart <= NEAR_SECONDS or apart <= NEAR * smaller:
        return rng.random() * (one.weight + other.weight) < one.weight
    if one.weight == other.weight == 1.0:  # nearly always, and then the seconds are the score
        return seconds < least
    return score(one, work) < score(other, work)


def _draws(urls: Sequence[str], rng: Random) -> Iterator[str]:
    """Give URLs at random, some of them twice; in the end as many as may be, in a row from a random place."""
    count = len(urls)
    if count > CHOICES:
        for _ in range(DRAWS):
            yield urls[int(rng.random() * count)]
    start = int(rng.random() * count)
    for index in range(start - min(count, MOST_LOOKS), start):
        yield urls[index]
