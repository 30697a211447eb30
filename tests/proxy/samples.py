"""Reports and replicas for tests of the pure parts."""

from __future__ import annotations

from typing import Any

from proxy.fleet import Replica, Snapshot
from shared.languages import LanguagePair
from shared.report import PairReport, ReplicaReport, ServerState


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
        "limit": 10,
        "pairs": pairs,
        "models": {},
        **changes,
    }
    return ReplicaReport(**values)


def replica(url: str, *ready: str, now: float = 100.0, **changes: Any) -> Replica:
    """Return a replica that has just reported."""
    return Replica.reported(url, report(*ready, **changes), now)


def snapshot(*replicas: Replica, remembered: tuple[str, ...] = ()) -> Snapshot:
    """Return the fleet of these replicas."""
    return Snapshot.of(replicas, [pair(label) for label in remembered])
