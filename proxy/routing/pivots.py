"""Pivots: the third language through which a pair is translated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair, closeness, language_and_script


@dataclass(frozen=True, slots=True)
class PivotOrder:
    """Order of pivots: ``preferred`` ones, then by ``latency``, seconds per unit."""

    preferred: Sequence[str]
    latency: Callable[[LanguagePair], float]

    def cost(self, legs: tuple[LanguagePair, LanguagePair]) -> tuple[int, float, str]:
        """Return the sort key of a route, best first."""
        pivot = legs[0].target
        return self.preference(pivot), self.latency(legs[0]) + self.latency(legs[1]), pivot

    def preference(self, pivot: str) -> int:
        """Return a pivot's place among the preferred ones; others have the last."""
        places = (n for n, each in enumerate(self.preferred) if closeness(each, pivot) is not None)
        return next(places, len(self.preferred))


def pairs_of_kin(pairs: Mapping[tuple[str, str], tuple[LanguagePair, ...]], tag: str) -> Sequence[LanguagePair]:
    """Return the pairs with the language and script of this tag."""
    return pairs.get(language_and_script(tag), ())


def two_leg_routes(pair: LanguagePair, snapshot: Snapshot) -> Iterator[tuple[LanguagePair, LanguagePair]]:
    """Yield every two known pairs that together translate this pair."""
    ends = {language_and_script(pair.source), language_and_script(pair.target)}
    seconds: dict[tuple[str, str], list[LanguagePair]] = {}
    for second in pairs_of_kin(snapshot.by_target_kin, pair.target):
        seconds.setdefault(language_and_script(second.source), []).append(second)
    for first in pairs_of_kin(snapshot.by_source_kin, pair.source) if seconds else ():
        pivot = language_and_script(first.target)
        if pivot not in ends:
            yield from ((first, second) for second in seconds.get(pivot, ()))


def best_legs(pair: LanguagePair, snapshot: Snapshot, pivots: PivotOrder) -> tuple[LanguagePair, LanguagePair] | None:
    """Return the best two ready pairs, else the best two known ones."""
    known = list(two_leg_routes(pair, snapshot))
    ready = [legs for legs in known if all(snapshot.ready[leg] for leg in legs)]
    return min(ready or known, key=pivots.cost, default=None)


def pivot_pairs(snapshot: Snapshot, pivots: PivotOrder) -> dict[LanguagePair, tuple[str, bool]]:
    """Return each pair's best pivot, and whether that route is ready.

    Pairs with a ready direct route are omitted. 100 languages take 20 ms. Latencies, which change with each request, do
    not count.
    """
    known, ready = _targets(snapshot, only_ready=False), _targets(snapshot, only_ready=True)
    order = sorted(known, key=lambda pivot: (pivots.preference(pivot), pivot))
    kin: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for tag in snapshot.by_target:
        kin[language_and_script(tag)].add(tag)
    found: dict[LanguagePair, tuple[str, bool]] = {}
    for source in known:
        missing = snapshot.by_target.keys() - ready[source] - kin[language_and_script(source)]
        for targets, is_ready in ((ready, True), (known, False)):
            for pivot in order:
                if pivot not in targets[source]:
                    continue
                reached = missing & targets[pivot]
                found.update((LanguagePair(source, target), (pivot, is_ready)) for target in reached)
                missing -= reached
    return found


def _targets(snapshot: Snapshot, *, only_ready: bool) -> dict[str, frozenset[str]]:
    return {
        source: frozenset(pair.target for pair in pairs if snapshot.ready[pair] or not only_ready)
        for source, pairs in snapshot.by_source.items()
    }
