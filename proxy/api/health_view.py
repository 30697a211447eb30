"""The JSON of ``GET /health`` and of ``GET /languages``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_core import to_json

from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import Pivots, pivot_pairs
from shared.languages import LanguagePair
from shared.version import VERSION

# For each pair the fields of ReplicaPairHealth.
PairLines = dict[str, dict[str, object]]
HealthStatus = Literal["ok", "degraded", "down"]


class PairHealth(BaseModel):
    """Numbers of replicas of a known pair: ready, failing, and all."""

    ready: int
    failing: int = Field(description="Ready by their reports, but excluded by this proxy's own statistics.")
    total: int


class ServiceHealth(BaseModel):
    """Ready and expected replicas of a service, a host name in PROXY_REPLICAS."""

    ready: int
    expected: int | None = Field(description="As operators stated it; null: no number stated.")
    learnt: bool = Field(default=False, description="Always false; it will go.")
    why: str | None = Field(description="What is missing, or that no number is stated; null: all is as stated.")


class ReplicaPairHealth(BaseModel):
    """Whether a replica is ready for one pair, otherwise the reason."""

    ready: bool
    why: str | None


class ReplicaHealth(BaseModel):
    """One replica: state, reason, age of its report in seconds, load."""

    url: str
    replica_id: str | None
    version: str | None
    state: ReplicaState
    why: str | None
    report_age_s: float | None
    in_flight: int | None = Field(description="Texts in flight there, from all proxies, by its last report.")
    load: int = Field(description="Texts that this proxy counts as its load when it selects.")
    pairs: dict[str, ReplicaPairHealth]


class RedisHealth(BaseModel):
    """Whether Redis answered the last call, otherwise the error."""

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
    services: dict[str, ServiceHealth]
    replicas: list[ReplicaHealth]


class Target(BaseModel):
    """A target language, whether it can be served now, and how."""

    lang: str
    ready: bool
    how: Literal["direct", "pivot"] = Field(description="By one model, or by two through a third language.")
    pivot: str | None = Field(description="The third language; null if direct.")


class Language(BaseModel):
    """A source language and its targets."""

    lang: str
    targets: list[Target]


class Languages(BaseModel):
    """The answer to ``GET /languages``."""

    languages: list[Language]


def health(
    snapshot: Snapshot,
    services: Sequence[ServiceReplicas],
    *,
    redis_error: str | None,
    leading: bool,
    uptime: float,
    now: float,
    load: Callable[[str], int],
    failing: Callable[[LanguagePair], int],
) -> tuple[HealthStatus, bytes]:
    """Return the fleet's status and its ``Health`` as JSON.

    The status is ``down`` if no pair can be served, ``ok`` if nothing is wrong, otherwise ``degraded``. ``load`` is
    this proxy's load on a replica; ``failing`` counts a pair's ready replicas that its statistics exclude.
    """
    pairs = pair_lines(snapshot, failing)
    status = fleet_status(snapshot, pairs, services, redis_error)
    shared_lines: dict[tuple[int, bool, str | None], PairLines] = {}
    # Dictionaries, because for 200 replicas with 50 pairs each they take 5 ms, pydantic models 18.
    return status, to_json(
        {
            "status": status,
            "version": VERSION,
            "uptime_s": round(uptime, 1),
            "redis": {"up": redis_error is None, "error": redis_error},
            "prober": leading,
            "pairs": pairs,
            "services": {name: each.model_dump() for name, each in service_lines(services).items()},
            "replicas": [_replica_line(each, now, load(each.url), shared_lines) for each in snapshot.replicas.values()],
        }
    )


def pair_lines(snapshot: Snapshot, failing: Callable[[LanguagePair], int]) -> dict[str, dict[str, int]]:
    """Return each known pair's fields of ``PairHealth``."""
    return {
        str(pair): {"ready": len(urls), "failing": failing(pair) if urls else 0, "total": snapshot.total[pair]}
        for pair, urls in snapshot.ready.items()
    }


def fleet_status(
    snapshot: Snapshot,
    pairs: Mapping[str, Mapping[str, int]],
    services: Sequence[ServiceReplicas],
    redis_error: str | None,
) -> HealthStatus:
    """Return the fleet's status, with the lines of its pairs."""
    if not any(pair["ready"] > pair["failing"] for pair in pairs.values()):
        return "down"
    is_whole = (
        all(pair["ready"] and not pair["failing"] for pair in pairs.values())
        and redis_error is None
        and not any(each.is_short for each in services)
        and all(replica.state is not ReplicaState.DOWN for replica in snapshot.replicas.values())
    )
    return "ok" if is_whole else "degraded"


def service_lines(services: Iterable[ServiceReplicas]) -> dict[str, ServiceHealth]:
    """Return each service's line."""
    return {each.service: ServiceHealth(ready=each.ready, expected=each.expected, why=each.why) for each in services}


def _replica_line(
    replica: Replica, now: float, load: int, shared_lines: dict[tuple[int, bool, str | None], PairLines]
) -> dict[str, object]:
    """Return a replica's line; equal ``pairs`` objects share their lines."""
    report, serving = replica.report, replica.state is ReplicaState.READY
    key = id(report and report.pairs), serving, replica.why
    if key not in shared_lines:
        shared_lines[key] = {
            str(pair): {
                "ready": serving and each.ready,
                "why": None if serving and each.ready else each.why or replica.why,
            }
            for pair, each in (report.pairs.by_pair.items() if report else ())
        }
    return {
        "url": replica.url,
        "replica_id": report and report.replica_id,
        "version": report and report.version,
        "state": replica.state,
        "why": replica.why,
        "report_age_s": None if replica.reported_at is None else round(max(0.0, now - replica.reported_at), 1),
        "in_flight": report and report.in_flight,
        "load": load,
        "pairs": shared_lines[key],
    }


def languages(snapshot: Snapshot, pivots: Pivots | None) -> bytes:
    """Return ``Languages`` as JSON: targets are direct or through a pivot."""
    targets: dict[LanguagePair, dict[str, object]] = {
        pair: {"lang": pair.target, "ready": bool(urls), "how": "direct", "pivot": None}
        for pair, urls in snapshot.ready.items()
    }
    for pair, (pivot, ready) in pivot_pairs(snapshot, pivots).items() if pivots is not None else ():
        if ready or pair not in targets:
            targets[pair] = {"lang": pair.target, "ready": ready, "how": "pivot", "pivot": pivot}
    by_source: dict[str, list[dict[str, object]]] = {}
    for pair in sorted(targets):
        by_source.setdefault(pair.source, []).append(targets[pair])
    return to_json({"languages": [{"lang": lang, "targets": each} for lang, each in by_source.items()]})
