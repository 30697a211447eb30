"""EventDetector: events, from changes of what this proxy knows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.status.fleet_event import MAX_EVENTS, FleetEvent, FleetEventKind, named
from shared.languages import LanguagePair

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
class ReplicaHistory:
    """A replica as last observed; times are Unix seconds.

    ``since``: of its state, or of all its pairs being ready; None: as long as this proxy knows it; ``restarts``: starts of its server that this proxy saw;
    ``lost_at``: of its loss, None: unknown.
    """

    state: ReplicaState
    drained: bool
    healthy: bool
    since: float | None = None
    restarts: int = 0
    was_ready: bool = False
    was_lost: bool = False
    lost_at: float | None = None
    replica_id: str | None = None


class EventDetector:
    """The latest ``MAX_EVENTS`` events; ``clock`` returns Unix seconds.

    All begins with the first snapshot in which the state of every replica is known. ``version`` counts events.
    """

    def __init__(self, proxy_name: str, clock: Callable[[], float]) -> None:
        self._proxy_name = proxy_name
        self._clock = clock
        self.replicas: dict[str, ReplicaHistory] = {}
        self._pairs_since: dict[str, float] = {}
        self._breakers_since: dict[str, float] = {}
        self._redis_since: float | None = None
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
        for url in self.replicas.keys() - snapshot.replicas.keys():
            del self.replicas[url]
            self._add(FleetEventKind.REPLICA_LEFT, url)
        if snapshot.ready is not self._ready:
            before, self._ready = self._ready, snapshot.ready
            self._add_pairs(
                FleetEventKind.PAIRS_DOWN, [pair for pair, urls in before.items() if urls and not self._ready.get(pair)]
            )
            self._add_pairs(
                FleetEventKind.PAIRS_UP,
                [pair for pair, urls in snapshot.ready.items() if urls and pair in before and not before[pair]],
            )
        if not self.has_started:
            # Before the first names are resolved there is no replica.
            self.has_started = bool(snapshot.replicas) and all(each.is_known for each in snapshot.replicas.values())

    def observe_breakers(self, breakers: Mapping[str, OpenBreakers]) -> None:
        """Compare open breakers, by URL, with those before."""
        before, self._breakers = self._breakers, breakers
        for url in breakers.keys() - before.keys():
            self._breakers_since[url] = self._clock()
            self._add(FleetEventKind.BREAKER_OPENED, url, f"{_named(breakers[url].pairs)}: {breakers[url].why}")
        for url in before.keys() - breakers.keys():
            since = self._breakers_since.pop(url)
            if url in self.replicas:
                self._add(FleetEventKind.BREAKER_CLOSED, url, since=since)

    def since(self, subject: str) -> float | None:
        """Return when a replica's or pair's state began; None: unknown."""
        history = self.replicas.get(subject)
        return self._pairs_since.get(subject) if history is None else history.since

    def observe_leader(self, *, is_leader: bool) -> None:
        """Note that this proxy took the leader lease."""
        was_leader, self._is_leader = self._is_leader, is_leader
        if is_leader and not was_leader:
            self._add(FleetEventKind.LEADER_CHANGED, self._proxy_name)

    def observe_redis(self, error: str | None) -> None:
        """Compare the error of Redis with the one before."""
        before, self._redis_error = self._redis_error, error
        if error is not None and before is None:
            self._redis_since = self._clock()
            self._add(FleetEventKind.REDIS_AWAY, why=error)
        elif error is None and before is not None:
            self._add(FleetEventKind.REDIS_BACK, since=self._redis_since)

    def _observe_replica(self, url: str, replica: Replica) -> None:
        observed = self.replicas.get(url)
        if observed is None:
            observed = self.replicas[url] = ReplicaHistory(replica.state, replica.drained, replica.is_healthy)
            # Others have seen it ready, and this proxy not when it was lost.
            observed.was_ready = observed.was_lost = replica.state is ReplicaState.DOWN and replica.report is not None
        if replica.drained is not observed.drained:
            self._add(FleetEventKind.REPLICA_DRAINED if replica.drained else FleetEventKind.REPLICA_RESUMED, url)
        if replica.state is ReplicaState.READY:
            if observed.was_lost:
                self._add(FleetEventKind.REPLICA_UP, url, since=observed.lost_at)
            elif not observed.was_ready:
                self._add(FleetEventKind.REPLICA_JOINED, url)
            observed.was_ready, observed.was_lost = True, False
        elif replica.state is not observed.state and self._is_loss(replica, observed):
            self._add(_LOSSES[replica.state], url, replica.why)
            if not observed.was_lost:
                observed.was_lost, observed.lost_at = True, self._clock()
        now = replica.state, replica.drained, replica.is_healthy
        if self.has_started and now != (observed.state, observed.drained, observed.healthy):
            observed.since = self._clock()
        observed.state, observed.drained, observed.healthy = now
        replica_id = replica.report and replica.report.replica_id
        observed.restarts += replica_id != observed.replica_id is not None
        observed.replica_id = replica_id

    @staticmethod
    def _is_loss(replica: Replica, observed: ReplicaHistory) -> bool:
        if replica.state is ReplicaState.DRAINING:
            return observed.was_ready and not replica.drained
        if replica.state is ReplicaState.STARTING:
            return observed.state is ReplicaState.READY
        return observed.was_ready

    def _add_pairs(self, kind: FleetEventKind, pairs: list[LanguagePair]) -> None:
        if not pairs:
            return
        labels = [str(pair) for pair in pairs]
        since = min((self._pairs_since[each] for each in labels if each in self._pairs_since), default=None)
        self._add(kind, _named(pairs), since=since if kind is FleetEventKind.PAIRS_UP else None)
        if self.has_started:
            self._pairs_since |= dict.fromkeys(labels, self._clock())

    def _add(
        self, kind: FleetEventKind, subject: str = "", why: str | None = None, *, since: float | None = None
    ) -> None:
        """Note an event; ``since``: the beginning of what it ends."""
        if self.has_started or kind in _WITHOUT_REPLICAS:
            now = self._clock()
            self.events.append(FleetEvent.of(kind, now, subject, why, None if since is None else now - since))
            self.version += 1


def _named(pairs: Iterable[LanguagePair]) -> str:
    return named([str(pair) for pair in sorted(pairs)])
