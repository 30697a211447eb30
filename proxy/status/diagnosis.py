"""Diagnosis of a replica or a pair: level, cause and code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from proxy.balancing.local_stats import LocalStats
from proxy.balancing.replica_stats import ReplicaStats
from proxy.fleet.replica import DRAINED, Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from shared.protocol.priority import Lane
from shared.protocol.report import ENGINE_STALLED

# bad: callers notice it or will; warn: fewer replicas than there should be; off: intended; ok.
Level = Literal["bad", "warn", "off", "ok"]
LEVELS: Final[tuple[Level, ...]] = ("bad", "warn", "off", "ok")

# What a replica's state comes from.
Cause = Literal["down", "starting", "stopping", "drained", "stalled", "failing", "pairs-missing", "full"]


class IssueCode(StrEnum):
    """Code of an issue, and name of its runbook; stable."""

    REDIS_AWAY = "redis-away"
    PAIR_UNAVAILABLE = "pair-unavailable"
    PAIR_FAILING = "pair-failing"
    REPLICA_DOWN = "replica-down"
    REPLICA_STARTING = "replica-starting"
    REPLICA_STALLED = "replica-stalled"
    REPLICA_FAILING = "replica-failing"
    REPLICA_FULL = "replica-full"
    REPLICA_PAIRS_MISSING = "replica-pairs-missing"
    REPLICAS_MISSING = "replicas-missing"
    REQUESTS_FAILING = "requests-failing"
    ANSWERS_SLOW = "answers-slow"
    OVERLOAD = "overload"
    VERSIONS_DIFFER = "versions-differ"
    ENGINE_DIED = "engine-died"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A level, its cause, and the code of what is wrong."""

    level: Level
    cause: Cause | None = None
    code: IssueCode | None = None


_BY_STATE: Final[Mapping[ReplicaState, Diagnosis]] = {
    ReplicaState.DOWN: Diagnosis("bad", "down", IssueCode.REPLICA_DOWN),
    ReplicaState.STARTING: Diagnosis("warn", "starting", IssueCode.REPLICA_STARTING),
    ReplicaState.DRAINING: Diagnosis("off", "stopping"),
}


def diagnosis_of(replica: Replica, local_stats: LocalStats) -> Diagnosis:
    """Return what is wrong with a replica, by report and statistics."""
    stats = local_stats.replicas.get(replica.url) or ReplicaStats()
    pairs = tuple(stats.pairs.items())
    whole = replica.report is None or replica.report.pairs.all_ready
    reported = replica.report.pairs.by_pair if replica.report else {}
    return diagnose_replica(
        replica.state,
        drained=replica.drained,
        hung=not whole and any(each.why == ENGINE_STALLED for each in reported.values()),
        stalled=any(each.is_stalled for _, each in pairs),
        failing=any(each.is_failing for pair, each in pairs if pair in reported),
        whole=whole,
        full=is_full(replica.url, local_stats),
    )


def diagnose_replica(
    state: ReplicaState, *, drained: bool, hung: bool, stalled: bool, failing: bool, whole: bool, full: bool
) -> Diagnosis:
    """Return what is wrong with a replica.

    ``hung``: it says that an engine stands still; ``stalled``: our requests make no progress; ``whole``: all pairs are ready.
    """
    if drained:
        return Diagnosis("off", "drained")
    if state in _BY_STATE and not (hung and state is ReplicaState.STARTING):
        return _BY_STATE[state]
    if hung or stalled:
        return Diagnosis("bad", "stalled", IssueCode.REPLICA_STALLED)
    if failing:
        return Diagnosis("bad", "failing", IssueCode.REPLICA_FAILING)
    if not whole:
        return Diagnosis("warn", "pairs-missing", IssueCode.REPLICA_PAIRS_MISSING)
    return Diagnosis("warn", "full", IssueCode.REPLICA_FULL) if full else Diagnosis("ok")


def diagnose_pair(*, ready: int, failing: int, expected: int | None) -> Diagnosis:
    """Return how bad the state of a pair is."""
    if ready <= failing:
        return Diagnosis("bad", code=IssueCode.PAIR_FAILING if ready else IssueCode.PAIR_UNAVAILABLE)
    if failing:
        return Diagnosis("warn", code=IssueCode.REPLICA_FAILING)
    if expected is not None and ready < expected:
        return Diagnosis("warn", code=IssueCode.REPLICAS_MISSING)
    return Diagnosis("ok")


def why_out(replica: Replica, snapshot: Snapshot, local_stats: LocalStats) -> str | None:
    """Return why a replica gets no requests, or none for some pairs."""
    if replica.state is not ReplicaState.READY:
        why = replica.why or f"it is {replica.state}"
        return f"{why}; {DRAINED} too" if replica.drained and why != DRAINED else why
    if why := _why_avoided(replica, snapshot, local_stats):
        return why
    reports = replica.report.pairs.by_pair if replica.report else {}
    out = [
        f"{pair} ({each.why or replica.why or 'no reason given'})" for pair, each in reports.items() if not each.ready
    ]
    return f"not ready for {', '.join(out)}" if out else None


def _why_avoided(replica: Replica, snapshot: Snapshot, local_stats: LocalStats) -> str | None:
    stats = local_stats.replicas.get(replica.url) or ReplicaStats()
    pairs = tuple(stats.pairs.items())
    stalled = [pair for pair, each in pairs if each.is_stalled]
    if stalled:
        has_others = any(len(snapshot.ready.get(pair, ())) > 1 for pair in stalled)
        while_others = ", while those of other replicas do" if has_others else ""
        return f"its requests of {', '.join(map(str, stalled))} make no progress{while_others}"
    out = [
        f"the breaker of {pair} is {each.breaker.state}: {each.failed_with}" for pair, each in pairs if each.is_failing
    ]
    if out:
        return "; ".join(out)
    return "it is full and asked for no more requests" if is_full(replica.url, local_stats) else None


def is_full(url: str, local_stats: LocalStats) -> bool:
    """Return whether a replica asked for no more requests."""
    stats = local_stats.replicas.get(url)
    return stats is not None and any(stats.is_full(local_stats.now(), lane) for lane in Lane)
