"""Reports and replicas for tests of the pure parts."""

from __future__ import annotations

from typing import Any

from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair
from shared.protocol.priority import Priority
from shared.protocol.report import ClassCapacity, ModelReport, PairReport, ReplicaReport, ServedPairs, ServerState


def pair(label: str) -> LanguagePair:
    """``en>zh-Hant`` as a pair."""
    source, target = label.split(">")
    return LanguagePair(source, target)


def report(
    *ready: str,
    starting: tuple[str, ...] = (),
    state: str = "ready",
    rank: int = 0,
    ready_in: float | None = None,
    **changes: Any,
) -> ReplicaReport:
    """Return a report: pairs that are ready, and pairs that start; all served by a model of that rank."""
    pairs = {
        label: PairReport(
            source=pair(label).source,
            target=pair(label).target,
            model="m",
            rank=rank,
            ready_in_s=None if label in ready else ready_in,
            ready=label in ready,
            why=None if label in ready else "its engine starts",
        )
        for label in (*ready, *starting)
    }
    values: dict[str, Any] = {
        "replica_id": "id",
        "version": "1",
        "started_at": 1.0,
        "state": ServerState(state),
        "in_flight": 0,
        "pairs": pairs,
        "pairs_version": ServedPairs(pairs).version,
        "models": {},
        **changes,
    }
    return ReplicaReport(**values)


def models(
    *, ahead: float, limit: float, rate: float | None = None, name: str = "m", callers: float | None = None
) -> dict[str, ModelReport]:
    """Return what a report says of one model that is so full for every class, by many callers unless said otherwise."""
    crowd = ahead if callers is None else callers
    capacity = {priority: ClassCapacity(ahead=ahead, callers=crowd, limit=limit) for priority in Priority}
    model = ModelReport(
        running=0, waiting=0, limit=64, steps=1, step_age_s=0.1, kv_used=0, revision="r", capacity=capacity, rate=rate
    )
    return {name: model}


def replica(url: str, *ready: str, now: float = 100.0, **changes: Any) -> Replica:
    """Return a replica that has just reported."""
    return Replica.reported(url, report(*ready, **changes), now)


def snapshot(*replicas: Replica, remembered: tuple[str, ...] = ()) -> Snapshot:
    """Return the fleet of these replicas."""
    return Snapshot.of(replicas, [pair(label) for label in remembered])
