"""From the languages of a request to the pairs that can serve it now, one after the other. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.fleet import ReplicaState
from shared.errors import PairUnavailableError, UnknownPairError
from shared.languages import LanguagePair, closeness, kinship, stand_ins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from proxy.fleet import Snapshot

# A small engine restarts in about this long (measured: 7-25 s on two cores); a replica that comes back is in the next
# sweep. Shorter only makes clients knock in vain.
RETRY_AFTER_SECONDS: Final = 5.0
# A replica's own estimate counts, but nobody is sent away for longer: it may be wrong, another replica may come.
LONGEST_WAIT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Route:
    """The pairs through which a request goes: one, or two through a pivot language."""

    legs: tuple[LanguagePair, ...]

    @property
    def name(self) -> str:
        """Name the route for metrics: ``en-de``, or ``de-en+en-fr``."""
        return "+".join(map(str, self.legs))

    @property
    def languages(self) -> list[str]:
        """Every language on the way, the pivot between source and target."""
        return [self.legs[0].source, *(leg.target for leg in self.legs)]


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


def known_pairs(wanted: LanguagePair, snapshot: Snapshot) -> list[LanguagePair]:
    """Return the known pairs that can stand in for the wanted one, best first.

    Raises:
        UnknownPairError: there is none.
    """
    pairs = stand_ins(wanted, _of_kin(snapshot.by_source, wanted.source))
    if not pairs:
        raise UnknownPairError(str(wanted), [str(pair) for pair in snapshot.ready])
    return pairs


def find_pair(wanted: LanguagePair, snapshot: Snapshot) -> LanguagePair:
    """Return the closest pair that has a ready replica.

    Raises:
        UnknownPairError: no known pair can stand in.
        PairUnavailableError: some can, but none is ready now.
    """
    if snapshot.ready.get(wanted):  # the common case, before looking for stand-ins
        return wanted
    pairs = known_pairs(wanted, snapshot)
    for pair in pairs:
        if snapshot.ready[pair]:
            return pair
    raise unavailable(pairs[0], snapshot)


def find_route(wanted: LanguagePair, snapshot: Snapshot, pivots: Pivots | None) -> Route:
    """Return the direct route, else, where pivots are allowed, the best one of which both legs are ready.

    Raises:
        UnknownPairError: no known pair can stand in, and no two known pairs lead there.
        PairUnavailableError: it is known how to get there, but not every pair on the way is ready now.
    """
    try:
        return Route((find_pair(wanted, snapshot),))
    except (UnknownPairError, PairUnavailableError) as error:
        if pivots is None:
            raise
        ways = list(_pivoted(wanted, snapshot))
        ready = [legs for legs in ways if all(snapshot.ready[leg] for leg in legs)]
        if ready:
            return Route(min(ready, key=pivots.cost))
        if ways and isinstance(error, UnknownPairError):
            legs = min(ways, key=pivots.cost)
            raise unavailable(next(leg for leg in legs if not snapshot.ready[leg]), snapshot) from None
        raise


def _of_kin(pairs: Mapping[str, tuple[LanguagePair, ...]], tag: str) -> list[LanguagePair]:
    """Return the pairs filed under any language that can stand in for this one."""
    kin = kinship(tag)
    return [pair for filed, found in pairs.items() if kinship(filed) == kin for pair in found]


def _pivoted(wanted: LanguagePair, snapshot: Snapshot) -> Iterator[tuple[LanguagePair, LanguagePair]]:
    """Yield every two known pairs that lead from the one language to the other."""
    ends = {kinship(wanted.source), kinship(wanted.target)}
    seconds: dict[tuple[str, str], list[LanguagePair]] = {}
    for second in _of_kin(snapshot.by_target, wanted.target):
        seconds.setdefault(kinship(second.source), []).append(second)
    for first in _of_kin(snapshot.by_source, wanted.source):
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


def unavailable(pair: LanguagePair, snapshot: Snapshot) -> PairUnavailableError:
    """Return the error for a known pair without a ready replica; says how the replicas that have it are."""
    # A replica that is READY can still lack this one pair.
    states = [
        "not ready for this pair" if replica.state is ReplicaState.READY else str(replica.state)
        for replica in snapshot.replicas.values()
        if replica.report is not None and pair in replica.report.by_pair
    ]
    if not states:
        why = "no replica that serves it is left"
    else:
        counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        why = f"no replica is ready for it (of {len(states)} that serve it: {counted})"
    return PairUnavailableError(str(pair), why, retry_after=_ready_in(pair, snapshot))


def _ready_in(pair: LanguagePair, snapshot: Snapshot) -> float:
    """Return when the first replica expects to have the pair ready; what is usual where none of them knows."""
    expected = [
        report.ready_in_s
        for replica in snapshot.replicas.values()
        if replica.report is not None and replica.state is not ReplicaState.DOWN
        if (report := replica.report.by_pair.get(pair)) is not None and report.ready_in_s is not None
    ]
    return min(LONGEST_WAIT_SECONDS, max(1.0, min(expected))) if expected else RETRY_AFTER_SECONDS
