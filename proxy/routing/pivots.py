"""Pivots: routes through a third language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair, closeness, language_and_script


@dataclass(frozen=True, slots=True)
class Pivots:
    """Order of pivots: ``preferred``, then by ``latency`` (seconds per unit of work)."""

    preferred: Sequence[str]
    latency: Callable[[LanguagePair], float]

    def cost(self, legs: tuple[LanguagePair, LanguagePair]) -> tuple[int, float, str]:
        """Return the sort key of a route, best first."""
        pivot = legs[0].target
        ranks = (n for n, each in enumerate(self.preferred) if closeness(each, pivot) is not None)
        return next(ranks, len(self.preferred)), self.latency(legs[0]) + self.latency(legs[1]), pivot


def pairs_of_kin(pairs: Mapping[str, tuple[LanguagePair, ...]], tag: str) -> list[LanguagePair]:
    """Return the pairs with the language and script of this tag."""
    kin = language_and_script(tag)
    return [pair for language, filed in pairs.items() if language_and_script(language) == kin for pair in filed]


def two_leg_routes(pair: LanguagePair, snapshot: Snapshot) -> Iterator[tuple[LanguagePair, LanguagePair]]:
    """Yield every two known pairs that together translate this pair."""
    ends = {language_and_script(pair.source), language_and_script(pair.target)}
    seconds: dict[tuple[str, str], list[LanguagePair]] = {}
    for second in pairs_of_kin(snapshot.by_target, pair.target):
        seconds.setdefault(language_and_script(second.source), []).append(second)
    for first in pairs_of_kin(snapshot.by_source, pair.source):
        pivot = language_and_script(first.target)
        if pivot not in ends:
            yield from ((first, second) for second in seconds.get(pivot, ()))


def pivot_pairs(snapshot: Snapshot, pivots: Pivots) -> dict[LanguagePair, tuple[str, bool]]:
    """Return each pair's best pivot, and whether that route is ready.

    Pairs with a ready direct route are omitted.
    """
    routes: dict[LanguagePair, tuple[bool, tuple[LanguagePair, LanguagePair]]] = {}
    for firsts in snapshot.by_source.values():
        for first in firsts:
            for second in snapshot.by_source.get(first.target, ()):
                pair = LanguagePair(first.source, second.target)
                if snapshot.ready.get(pair) or closeness(pair.source, pair.target) is not None:
                    continue
                route = not (snapshot.ready[first] and snapshot.ready[second]), (first, second)
                routes[pair] = min(routes.get(pair, route), route, key=lambda each: (each[0], pivots.cost(each[1])))
    return {pair: (legs[0].target, not is_lacking) for pair, (is_lacking, legs) in routes.items()}
