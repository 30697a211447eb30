"""Routes: the one or two pairs that serve a request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from proxy.fleet.replica import ReplicaState
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair, closeness, language_and_script, stand_ins
from shared.protocol.errors import PairUnavailableError, PairwayError, UnknownPairError

# Default Retry-After: a small engine restarts in 7 to 25 s.
PAIR_RETRY_SECONDS: Final = 5.0
# Estimates may be wrong, and another replica may be ready earlier.
LONGEST_PAIR_WAIT_SECONDS: Final = 60.0
# Of those that exist, where a pair is unknown: to name all of 100 languages takes 10 ms and 200 KB.
MAX_NAMED_PAIRS: Final = 100


@dataclass(frozen=True, slots=True)
class Pivots:
    """Order of pivots: ``preferred``, then by ``latency`` (seconds per unit of work)."""

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


def pivot_pairs(snapshot: Snapshot, pivots: Pivots) -> dict[LanguagePair, tuple[str, bool]]:
    """Return each pair's best pivot, and whether that route is ready.

    100 languages take 20 ms. Pairs with a ready direct route are omitted. Latencies, which change with each request, do not count.
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


class Route:
    """Pairs that a request goes through; ``name`` and ``pair`` label metrics.

    ``pair`` is what was asked for, in the languages of models.
    """

    __slots__ = ("languages", "legs", "name", "pair")

    def __init__(self, legs: tuple[LanguagePair, ...]) -> None:
        self.legs = legs
        self.name = "+".join(map(str, legs))
        self.pair = str(LanguagePair(legs[0].source, legs[-1].target))
        self.languages = [legs[0].source, *(leg.target for leg in legs)]


def known_stand_ins(pair: LanguagePair, snapshot: Snapshot) -> list[LanguagePair]:
    """Return the known pairs that fit, closest first."""
    sources, targets = snapshot.by_source_kin, snapshot.by_target_kin
    return stand_ins(pair, min(pairs_of_kin(sources, pair.source), pairs_of_kin(targets, pair.target), key=len))


def known_pairs(pair: LanguagePair, snapshot: Snapshot) -> list[LanguagePair]:
    """Return known pairs, closest first, or raise UnknownPairError."""
    pairs = known_stand_ins(pair, snapshot)
    if not pairs:
        raise _unknown_pair(pair, snapshot)
    return pairs


def _unknown_pair(pair: LanguagePair, snapshot: Snapshot) -> UnknownPairError:
    """Return the error, which names pairs of the same languages first."""
    known: Iterator[LanguagePair] = iter(snapshot.ready)
    if len(snapshot.ready) > MAX_NAMED_PAIRS:
        kin = pairs_of_kin(snapshot.by_source_kin, pair.source), pairs_of_kin(snapshot.by_target_kin, pair.target)
        # None is in both lists: it would be known. Each may stand in the third again.
        known = islice(chain(*kin, known), 2 * MAX_NAMED_PAIRS)
    named = list(dict.fromkeys(known))[:MAX_NAMED_PAIRS]
    return UnknownPairError(str(pair), list(map(str, named)), len(snapshot.ready) - len(named))


def find_pair(pair: LanguagePair, snapshot: Snapshot) -> LanguagePair:
    """Return the closest ready pair.

    Raises:
        UnknownPairError: no known pair can replace it.
        PairUnavailableError: no such pair is ready now.
    """
    if snapshot.ready.get(pair):  # the common case
        return pair
    candidates = known_pairs(pair, snapshot)
    for candidate in candidates:
        if snapshot.ready[candidate]:
            return candidate
    raise pair_unavailable(candidates[0], snapshot)


def find_route(pair: LanguagePair, snapshot: Snapshot, pivots: Pivots | None) -> Route:
    """Return the direct route, else the best through a pivot.

    Raises:
        UnknownPairError: no route is known.
        PairUnavailableError: no known route is ready now.
    """
    try:
        return Route((find_pair(pair, snapshot),))
    except (UnknownPairError, PairUnavailableError) as error:
        if pivots is None:
            raise
        candidates = list(two_leg_routes(pair, snapshot))
        ready = [legs for legs in candidates if all(snapshot.ready[leg] for leg in legs)]
        if ready:
            return Route(min(ready, key=pivots.cost))
        if candidates and isinstance(error, UnknownPairError):
            legs = min(candidates, key=pivots.cost)
            raise pair_unavailable(next(leg for leg in legs if not snapshot.ready[leg]), snapshot) from None
        raise


class RoutePlanner:
    """Finds routes; caches direct ones until the snapshot changes."""

    def __init__(self, pivots: Pivots | None) -> None:
        self._pivots = pivots
        self._planned: object = None
        self._direct: dict[LanguagePair, Route] = {}

    def reachable(self, pair: LanguagePair, snapshot: Snapshot, *, through_pivot: bool) -> LanguagePair | None:
        """Return the known pair, direct or through a pivot; None if unknown."""
        if known := known_stand_ins(pair, snapshot):
            return known[0]
        legs = next(two_leg_routes(pair, snapshot), None) if through_pivot and self._pivots is not None else None
        return legs and LanguagePair(legs[0].source, legs[1].target)

    def find(self, pair: LanguagePair, snapshot: Snapshot, *, through_pivot: bool) -> Route | PairwayError:
        """Return the route for a pair, or the error that ``find_route`` raises."""
        if self._planned is not snapshot.ready:
            self._planned, self._direct = snapshot.ready, {}
        route = self._direct.get(pair)
        if route is None:
            try:
                route = find_route(pair, snapshot, self._pivots if through_pivot else None)
            except PairwayError as error:
                return error.with_traceback(None)
            if route.legs == (pair,):
                self._direct[pair] = route
        return route


def pair_unavailable(pair: LanguagePair, snapshot: Snapshot) -> PairUnavailableError:
    """Return the error, with the pair's replicas' states."""
    # A READY replica may have other pairs ready, but not this one.
    states = [
        "not ready for this pair" if replica.state is ReplicaState.READY else str(replica.state)
        for replica in snapshot.replicas.values()
        if replica.report is not None and pair in replica.report.pairs.by_pair
    ]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    why = f"no replica is ready (of {len(states)} configured: {counted})"
    if not states:
        why = "no replica reports this pair"
    return PairUnavailableError(str(pair), why, retry_after=_ready_in(pair, snapshot))


def _ready_in(pair: LanguagePair, snapshot: Snapshot) -> float:
    waits = [
        report.ready_in_s
        for replica in snapshot.replicas.values()
        if replica.report is not None and replica.state is not ReplicaState.DOWN
        if (report := replica.report.pairs.by_pair.get(pair)) is not None and report.ready_in_s is not None
    ]
    return min(LONGEST_PAIR_WAIT_SECONDS, max(1.0, min(waits))) if waits else PAIR_RETRY_SECONDS
