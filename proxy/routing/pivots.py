"""Pivots: routes through a third language, and how one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair, closeness, kinship


@dataclass(frozen=True, slots=True)
class Pivots:
    """How a pivot is chosen: the ``preferred`` languages in their order, then the quickest by ``latency``.

    ``latency`` returns the seconds that a pair takes per unit of work, as this proxy has seen it.
    """

    preferred: Sequence[str]
    latency: Callable[[LanguagePair], float]

    def cost(self, legs: tuple[LanguagePair, LanguagePair]) -> tuple[int, float, str]:
        """Return what to keep low: a language that models know best loses least, whatever the time."""
        pivot = legs[0].target
        known = next((n for n, each in enumerate(self.preferred) if closeness(each, pivot) is not None), None)
        place = len(self.preferred) if known is None else known
        return place, self.latency(legs[0]) + self.latency(legs[1]), pivot


def pairs_of_kin(pairs: Mapping[str, tuple[LanguagePair, ...]], tag: str) -> list[LanguagePair]:
    """Return the pairs filed under any language that can stand in for this one."""
    kin = kinship(tag)
    return [pair for filed, found in pairs.items() if kinship(filed) == kin for pair in found]


def two_leg_routes(wanted: LanguagePair, snapshot: Snapshot) -> Iterator[tuple[LanguagePair, LanguagePair]]:
    """Yield every two known pairs that lead from the one language to the other."""
    ends = {kinship(wanted.source), kinship(wanted.target)}
    seconds: dict[tuple[str, str], list[LanguagePair]] = {}
    for second in pairs_of_kin(snapshot.by_target, wanted.target):
        seconds.setdefault(kinship(second.source), []).append(second)
    for first in pairs_of_kin(snapshot.by_source, wanted.source):
        pivot = kinship(first.target)
        if pivot not in ends:
            yield from ((first, second) for second in seconds.get(pivot, ()))


def pivoted(snapshot: Snapshot, pivots: Pivots) -> dict[LanguagePair, tuple[str, bool]]:
    """Return what no pair serves directly now, through which pivot it goes, and whether that can be served now.

    By the languages' own tags; of several pivots the best that is ready, else the best.
    """
    found: dict[LanguagePair, tuple[bool, tuple[LanguagePair, LanguagePair]]] = {}
    for firsts in snapshot.by_source.values():
        for first in firsts:
            for second in snapshot.by_source.get(first.target, ()):
                pair = LanguagePair(first.source, second.target)
                if snapshot.ready.get(pair) or closeness(pair.source, pair.target) is not None:
                    continue
                way = not (snapshot.ready[first] and snapshot.ready[second]), (first, second)
                found[pair] = min(found.get(pair, way), way, key=lambda each: (each[0], pivots.cost(each[1])))
    return {pair: (legs[0].target, not lacking) for pair, (lacking, legs) in found.items()}
