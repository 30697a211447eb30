"""EventDetector: events, from changes of what this proxy knows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.status.fleet_event import MAX_EVENTS, FleetEvent, FleetEventKind
from shared.languages import LanguagePair

# Pairs that an event names; one replica may serve hundreds.
MAX_NAMED_PAIRS: Final = 5

_LOSSES: Final = {
    ReplicaState.DOWN: FleetEventKind.REPLICA_DOWN,
    ReplicaState.STARTING: FleetEventKind.REPLICA_UNREADY,
    ReplicaState.DRAINING: FleetEventKind.REPLICA_STOPPING,
}
# These say nothing of the fleet's state.
_WITHOUT_REPLICAS: Final = {FleetEventKind.LEADER_CHANGED, FleetEventKind.REDIS_AWAY, FleetEventKind.REDIS_BACK}


@dataclass(frozen=True, slots=True)
class OpenBreakers:
    """Pairs of a replica's open breakers, and the last failure."""

    pairs: tuple[LanguagePair, ...]
    why: str


@dataclass(slots=True)
class _Observed:
    """A replica as last observed; ``was_ready`` until it is lost."""

    state: ReplicaState
    drained: bool
    was_ready: bool = False
    was_lost: bool = False


class EventDetector:
    """The latest ``MAX_EVENTS`` events; ``clock`` returns Unix seconds.

    All begins with the first snapshot in which the state of every replica is known. ``version`` counts events.
    """

    def __init__(self, proxy_name: str, clock: Callable[[], float]) -> None:
        self._proxy_name = proxy_name
        self._clock = clock
        self._replicas: dict[str, _Observed] = {}
        self._ready: Mapping[LanguagePair, tuple[str, ...]] = {}
        self._breakers: Mapping[str, OpenBreakers] = {}
        self._is_leader = False
        self._redis_error: str | None = None
        self.has_started = False
        self.events: deque[FleetEvent] = deque(maxlen=MAX_EVENTS)
        self.version = 0

    def observe_snapshot(self, snapshot: Snapshot) -> None:
        """Compare the fleet with the snapshot before."""
        for url, replica in snapshot.replicas.items():
            self._observe_replica(url, replica)
        for url in self._replicas.keys() - snapshot.replicas.keys():
            del self._replicas[url]
            self._add(FleetEventKind.REPLICA_LEFT, url)
        if snapshot.ready is not self._ready:
            before, self._ready = self._ready, snapshot.ready
            self._add_pairs(
                FleetEventKind.PAIRS_DOWN, (pair for pair, urls in before.items() if urls and not self._ready.get(pair))
            )
            self._add_pairs(
                FleetEventKind.PAIRS_UP,
                (pair for pair, urls in snapshot.ready.items() if urls and pair in before and not before[pair]),
            )
        if not self.has_started:
            # Before the first names are resolved there is no replica.
            self.has_started = bool(snapshot.replicas) and all(each.is_known for each in snapshot.replicas.values())

    def observe_breakers(self, breakers: Mapping[str, OpenBreakers]) -> None:
        """Compare open breakers, by URL, with those before."""
        before, self._breakers = self._breakers, breakers
        for url in breakers.keys() - before.keys():
            self._add(FleetEventKind.BREAKER_OPENED, url, f"{_named(breakers[url].pairs)}: {breakers[url].why}")
        for url in before.keys() - breakers.keys():
            if url in self._replicas:
                self._add(FleetEventKind.BREAKER_CLOSED, url)

    def observe_leader(self, *, is_leader: bool) -> None:
        """Note that this proxy took the leader lease."""
        was_leader, self._is_leader = self._is_leader, is_leader
        if is_leader and not was_leader:
            self._add(FleetEventKind.LEADER_CHANGED, self._proxy_name)

    def observe_redis(self, error: str | None) -> None:
        """Compare the error of Redis with the one before."""
        before, self._redis_error = self._redis_error, error
        if error is not None and before is None:
            self._add(FleetEventKind.REDIS_AWAY, why=error)
        elif error is None and before is not None:
            self._add(FleetEventKind.REDIS_BACK)

    def _observe_replica(self, url: str, replica: Replica) -> None:
        observed = self._replicas.setdefault(url, _Observed(replica.state, replica.drained))
        if replica.drained is not observed.drained:
            self._add(FleetEventKind.REPLICA_DRAINED if replica.drained else FleetEventKind.REPLICA_RESUMED, url)
        if replica.state is ReplicaState.READY:
            if observed.was_lost:
                self._add(FleetEventKind.REPLICA_UP, url)
            elif not observed.was_ready:
                self._add(FleetEventKind.REPLICA_JOINED, url)
            observed.was_ready, observed.was_lost = True, False
        elif replica.state is not observed.state and self._is_loss(replica, observed):
            self._add(_LOSSES[replica.state], url, replica.why)
            observed.was_lost = True
        observed.state, observed.drained = replica.state, replica.drained

    @staticmethod
    def _is_loss(replica: Replica, observed: _Observed) -> bool:
        if replica.state is ReplicaState.DRAINING:
            return observed.was_ready and not replica.drained
        if replica.state is ReplicaState.STARTING:
            return observed.state is ReplicaState.READY
        return True

    def _add_pairs(self, kind: FleetEventKind, pairs: Iterable[LanguagePair]) -> None:
        if found := sorted(pairs):
            self._add(kind, _named(found))

    def _add(self, kind: FleetEventKind, subject: str = "", why: str | None = None) -> None:
        if self.has_started or kind in _WITHOUT_REPLICAS:
            self.events.append(FleetEvent.of(kind, self._clock(), subject, why))
            self.version += 1


def _named(pairs: Iterable[LanguagePair]) -> str:
    """Return the first pairs' labels, and the number of the others."""
    labels = [str(pair) for pair in sorted(pairs)]
    more = f" and {len(labels) - MAX_NAMED_PAIRS} more" if len(labels) > MAX_NAMED_PAIRS else ""
    return ", ".join(labels[:MAX_NAMED_PAIRS]) + more
