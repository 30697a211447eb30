"""The JSON of ``GET /health``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_core import to_json

from proxy.api.views.replica_view import ReplicaHealth, ReplicaView, SharedPairFields
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.outlier_detection import failing_replicas
from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.fleet.replica import ReplicaState
from proxy.fleet.snapshot import Snapshot
from shared.version import VERSION

HealthStatus = Literal["ok", "degraded", "down"]


class PairHealth(BaseModel):
    """Numbers of replicas of a known pair: ready, failing, and all."""

    ready: int
    failing: int = Field(description="Ready by their reports, but excluded by this proxy's own statistics.")
    total: int


class ServiceHealth(BaseModel):
    """Ready and expected replicas of a service, a host name in PROXY_REPLICAS."""

    ready: int
    expected: int = Field(description="Set by operators, else the most that were ready for minutes; 0 before.")
    learnt: bool = Field(description="Whether it was learnt; false: an operator set it.")
    why: str | None = Field(description="What is missing, and the command if it is intended; null: nothing.")


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


def health(
    snapshot: Snapshot,
    services: Sequence[ServiceReplicas],
    local_stats: LocalStats,
    *,
    redis_error: str | None,
    leading: bool,
    uptime: float,
    now: float,
) -> tuple[HealthStatus, bytes]:
    """Return the fleet's status and its ``Health`` as JSON.

    The status is ``down`` if no pair can be served, ``ok`` if nothing is wrong, otherwise ``degraded``.
    """
    pairs = pair_lines(snapshot, local_stats)
    status = fleet_status(snapshot, pairs, services, redis_error)
    shared: SharedPairFields = {}
    views = (ReplicaView(each, snapshot, local_stats, now) for each in snapshot.replicas.values())
    return status, to_json(
        {
            "status": status,
            "version": VERSION,
            "uptime_s": round(uptime, 1),
            "redis": {"up": redis_error is None, "error": redis_error},
            "prober": leading,
            "pairs": pairs,
            "services": {name: each.model_dump() for name, each in service_lines(services).items()},
            "replicas": [view.health(shared) for view in views],
        }
    )


def pair_lines(snapshot: Snapshot, local_stats: LocalStats) -> dict[str, dict[str, int]]:
    """Return each known pair's fields of ``PairHealth``."""
    return {
        str(pair): {
            "ready": len(urls),
            "failing": len(failing_replicas(local_stats, pair, snapshot)) if urls else 0,
            "total": snapshot.total[pair],
        }
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
        and not any(each.why for each in services)
        and all(replica.state is not ReplicaState.DOWN for replica in snapshot.replicas.values())
    )
    return "ok" if is_whole else "degraded"


def service_lines(services: Iterable[ServiceReplicas]) -> dict[str, ServiceHealth]:
    """Return each service's line."""
    return {
        each.service: ServiceHealth(ready=each.ready, expected=each.expected, learnt=each.learnt, why=each.why)
        for each in services
    }
