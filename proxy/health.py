"""What dashboards see at ``/health`` and clients at ``/languages``. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from proxy.fleet import ReplicaState
from proxy.routing import pivoted
from shared.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.fleet import Replica, Snapshot
    from proxy.routing import Pivots
    from shared.languages import LanguagePair

HealthStatus = Literal["ok", "degraded", "down"]


class PairHealth(BaseModel):
    """Replicas ready for a known pair, those of them that this proxy found not to be, and those configured for it."""

    ready: int
    failing: int = Field(description="Ready by their reports, but kept out by this proxy's own evidence.")
    total: int


class ReplicaPairHealth(BaseModel):
    """Whether a replica is ready for one pair, else why not."""

    ready: bool
    why: str | None


class ReplicaHealth(BaseModel):
    """One replica: its state, why it is not ready, seconds since its last report, and its load."""

    url: str
    replica_id: str | None
    version: str | None
    state: ReplicaState
    why: str | None
    report_age_s: float | None
    in_flight: int | None = Field(description="Texts it has in hand, from whichever proxy.")
    load: int = Field(description="Texts this proxy counts against it when it picks.")
    pairs: dict[str, ReplicaPairHealth]


class RedisHealth(BaseModel):
    """Whether Redis answered when it was last asked, else the error."""

    up: bool
    error: str | None


class Health(BaseModel):
    """The answer to ``GET /health``."""

    status: HealthStatus
    version: str
    uptime_s: float
    redis: RedisHealth
    prober: bool = Field(description="Whether this proxy holds the prober lease.")
    pairs: dict[str, PairHealth]
    replicas: list[ReplicaHealth]


class Target(BaseModel):
    """A language that can be translated into, whether that can be served now, and how."""

    lang: str
    ready: bool
    how: Literal["direct", "pivot"] = Field(description="By one model, or by two through a third language.")
    pivot: str | None = Field(description="The third language.")


class Language(BaseModel):
    """A language that can be translated from."""

    lang: str
    targets: list[Target]


class Languages(BaseModel):
    """The answer to ``GET /languages``."""

    languages: list[Language]


def health(
    snapshot: Snapshot,
    *,
    redis_error: str | None,
    leading: bool,
    uptime: float,
    now: float,
    load: Callable[[str], int],
    failing: Callable[[LanguagePair], int],
) -> Health:
    """Judge the fleet: ``down`` when no pair is ready, ``ok`` when nothing at all is amiss, else ``degraded``.

    ``failing`` counts the replicas that report a pair ready and that this proxy knows better of.
    """
    pairs = {
        str(pair): PairHealth(ready=len(urls), failing=failing(pair) if urls else 0, total=snapshot.total[pair])
        for pair, urls in snapshot.ready.items()
    }
    status: HealthStatus
    if not any(pair.ready > pair.failing for pair in pairs.values()):
        status = "down"
    elif (
        all(pair.ready and not pair.failing for pair in pairs.values())
        and redis_error is None
        and all(replica.state is not ReplicaState.DOWN for replica in snapshot.replicas.values())
    ):
        status = "ok"
    else:
        status = "degraded"
    return Health(
        status=status,
        version=VERSION,
        uptime_s=round(uptime, 1),
        redis=RedisHealth(up=redis_error is None, error=redis_error),
        prober=leading,
        pairs=pairs,
        replicas=[_replica(replica, now, load) for replica in snapshot.replicas.values()],
    )


def _replica(replica: Replica, now: float, load: Callable[[str], int]) -> ReplicaHealth:
    report = replica.report
    return ReplicaHealth(
        url=replica.url,
        replica_id=report and report.replica_id,
        version=report and report.version,
        state=replica.state,
        why=replica.why,
        report_age_s=None if replica.reported_at is None else round(max(0.0, now - replica.reported_at), 1),
        in_flight=report and report.in_flight,
        load=load(replica.url),
        pairs={
            str(pair.pair): ReplicaPairHealth(
                ready=replica.pairs[pair.pair], why=None if replica.pairs[pair.pair] else pair.why or replica.why
            )
            for pair in (report.pairs.values() if report else ())
        },
    )


def languages(snapshot: Snapshot, pivots: Pivots | None) -> Languages:
    """List every source language with its targets: known pairs, and what a pivot adds; and what can be served now."""
    targets = {
        pair: Target(lang=pair.target, ready=bool(urls), how="direct", pivot=None)
        for pair, urls in snapshot.ready.items()
    }
    for pair, (pivot, ready) in pivoted(snapshot, pivots).items() if pivots is not None else ():
        if ready or pair not in targets:
            targets[pair] = Target(lang=pair.target, ready=ready, how="pivot", pivot=pivot)
    found: dict[str, list[Target]] = {}
    for pair in sorted(targets):
        found.setdefault(pair.source, []).append(targets[pair])
    return Languages(languages=[Language(lang=lang, targets=each) for lang, each in found.items()])
