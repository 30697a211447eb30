"""Routes: the one or two pairs that serve a request."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from proxy.fleet.replica import ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import PivotOrder, best_legs, pairs_of_kin, two_leg_routes
from shared.languages import LanguagePair, stand_ins
from shared.protocol.errors import PairUnavailableError, PairwayError, UnknownPairError

# Default Retry-After: a small engine restarts in 7 to 25 s.
PAIR_RETRY_SECONDS: Final = 5.0
# Estimates may be wrong, and another replica may be ready earlier.
LONGEST_PAIR_WAIT_SECONDS: Final = 60.0
# Of those that exist, where a pair is unknown: to name all of 100 languages takes 10 ms and 200 KB.
MAX_NAMED_PAIRS: Final = 100


class Route:
    """Pairs that a request goes through; ``pair`` is the whole."""

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
    """Return the closest ready pair, or raise UnknownPairError or PairUnavailableError."""
    if snapshot.ready.get(pair):  # the common case
        return pair
    candidates = known_pairs(pair, snapshot)
    for candidate in candidates:
        if snapshot.ready[candidate]:
            return candidate
    raise pair_unavailable(candidates[0], snapshot)


def find_route(pair: LanguagePair, snapshot: Snapshot, pivots: PivotOrder | None) -> Route:
    """Return the direct route, else through a pivot; errors as ``find_pair``."""
    try:
        return Route((find_pair(pair, snapshot),))
    except (UnknownPairError, PairUnavailableError) as error:
        if pivots is None:
            raise
        legs = best_legs(pair, snapshot, pivots)
        if legs is None:
            raise
        unready = next((leg for leg in legs if not snapshot.ready[leg]), None)
        if unready is None:
            return Route(legs)
        if isinstance(error, UnknownPairError):
            raise pair_unavailable(unready, snapshot) from None
        raise


class RoutePlanner:
    """Finds routes; caches direct ones until the snapshot changes."""

    def __init__(self, pivots: PivotOrder | None) -> None:
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
