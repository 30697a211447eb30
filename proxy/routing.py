"""From the languages of a request to the replicas that can serve it now. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.fleet import ReplicaState
from shared.errors import PairUnavailableError, UnknownPairError
from shared.languages import LanguagePair, stand_ins

if TYPE_CHECKING:
    from proxy.fleet import Snapshot

# A small engine restarts in about this long (measured: 7-25 s on two cores); a replica that comes back is in the next
# sweep. Shorter only makes clients knock in vain.
RETRY_AFTER_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Route:
    """The pair that serves a request, and the URLs of the replicas that are ready for it (at least one)."""

    pair: LanguagePair
    urls: tuple[str, ...]


def known_pairs(wanted: LanguagePair, snapshot: Snapshot) -> list[LanguagePair]:
    """Return the known pairs that can stand in for the wanted one, best first.

    Raises:
        UnknownPairError: there is none.
    """
    pairs = stand_ins(wanted, snapshot.ready)
    if not pairs:
        raise UnknownPairError(str(wanted), [str(pair) for pair in snapshot.ready])
    return pairs


def find_route(wanted: LanguagePair, snapshot: Snapshot) -> Route:
    """Return the closest pair that has a ready replica.

    Raises:
        UnknownPairError: no known pair can stand in.
        PairUnavailableError: some can, but none is ready now.
    """
    if urls := snapshot.ready.get(wanted):  # the common case, before looking for stand-ins
        return Route(wanted, urls)
    pairs = known_pairs(wanted, snapshot)
    for pair in pairs:
        if urls := snapshot.ready[pair]:
            return Route(pair, urls)
    raise unavailable(pairs[0], snapshot)


def unavailable(pair: LanguagePair, snapshot: Snapshot) -> PairUnavailableError:
    """Return the error for a known pair without a ready replica; says how the replicas that have it are."""
    # A replica that is READY can still lack this one pair.
    states = [
        "not ready for this pair" if replica.state is ReplicaState.READY else str(replica.state)
        for replica in snapshot.replicas.values()
        if pair in replica.pairs
    ]
    if not states:
        why = "no replica that serves it is left"
    else:
        counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        why = f"no replica is ready for it (of {len(states)} that serve it: {counted})"
    return PairUnavailableError(str(pair), why, retry_after=RETRY_AFTER_SECONDS)
