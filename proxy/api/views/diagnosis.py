"""Diagnosis of a replica or a pair: level, cause and runbook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from proxy.fleet.replica import ReplicaState

# bad: callers notice it or will; warn: fewer replicas than there should be; off: intended; ok.
Level = Literal["bad", "warn", "off", "ok"]
LEVELS: Final[tuple[Level, ...]] = ("bad", "warn", "off", "ok")

# What a replica's state comes from.
Cause = Literal["down", "starting", "stopping", "drained", "stalled", "failing", "pairs-missing", "full"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A level, its cause, and the page of docs/operations/runbooks/ that helps."""

    level: Level
    cause: Cause | None = None
    runbook: str | None = None


_BY_STATE: Final[Mapping[ReplicaState, Diagnosis]] = {
    ReplicaState.DOWN: Diagnosis("bad", "down", "replica-down"),
    ReplicaState.STARTING: Diagnosis("warn", "starting", "replica-starting"),
    ReplicaState.DRAINING: Diagnosis("off", "stopping"),
}


def diagnose_replica(
    state: ReplicaState, *, drained: bool, stalled: bool, failing: bool, whole: bool, avoided: bool
) -> Diagnosis:
    """Return what is wrong with a replica.

    ``stalled``: no progress; ``failing``: a breaker is not closed; ``whole``: all pairs are ready; ``avoided``: it gets
    no requests.
    """
    if drained:
        return Diagnosis("off", "drained")
    if state in _BY_STATE:
        return _BY_STATE[state]
    if stalled:
        return Diagnosis("bad", "stalled", "replica-stalled")
    if failing:
        return Diagnosis("bad", "failing", "replica-failing")
    if not whole:
        return Diagnosis("warn", "pairs-missing", "replica-pairs-missing")
    return Diagnosis("warn", "full", "replica-full") if avoided else Diagnosis("ok")


def diagnose_pair(*, ready: int, failing: int, expected: int | None) -> Diagnosis:
    """Return how bad the state of a pair is."""
    if ready <= failing:
        return Diagnosis("bad", runbook="pair-failing" if ready else "pair-unavailable")
    if failing:
        return Diagnosis("warn", runbook="pair-failing")
    if expected is not None and ready < expected:
        return Diagnosis("warn", runbook="replicas-missing")
    return Diagnosis("ok")
