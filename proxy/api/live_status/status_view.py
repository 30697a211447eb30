"""The JSON of ``GET /status/data``."""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, Field

from proxy.api.fleet_view import FleetView, ReplicaLine, ReplicaSource
from proxy.api.health_view import HealthStatus, RedisHealth, ServiceHealth, fleet_status, pair_lines, service_lines
from proxy.api.live_status.diagnosis import LEVELS, Cause, Level, diagnose_pair, diagnose_replica
from proxy.api.live_status.traffic_view import EventLine, ProxyLine, Traffic, event_lines, proxy_line, traffic
from proxy.balancing.outlier_detection import failing_replicas
from proxy.balancing.replica_stats import ReplicaStats
from proxy.context import ProxyContext
from proxy.fleet.replica import Replica, ReplicaState
from shared.version import VERSION

# Lines of a large fleet, the worst first.
MAX_REPLICAS: Final = 200
MAX_PAIRS: Final = 500
MAX_PAIRS_OF_REPLICA: Final = 50
MAX_WHY_CHARS: Final = 1000
# Younger reports need no mention.
FRESH_SECONDS: Final = 5.0
MILLISECOND_DIGITS: Final = 3
PERCENT_DIGITS: Final = 2

_CLOSED: Final = frozenset({None, "closed"})
_WORST_FIRST: Final = {ReplicaState.DOWN: 0, ReplicaState.STARTING: 1, ReplicaState.DRAINING: 3}


class PairStatus(BaseModel):
    """One known pair; ``expected``: null if no number is stated."""

    pair: str
    level: Level
    ready: int
    failing: int
    expected: int | None
    total: int
    runbook: str | None


class ModelStatus(BaseModel):
    """One model of a replica, by its last report."""

    name: str
    running: int
    waiting: int
    limit: int
    steps: int
    kv_used: float
    revision: str | None


class PairOfReplica(BaseModel):
    """One pair of a replica."""

    pair: str
    ready: bool
    why: str | None
    model: str
    breaker: str | None


class ReplicaStatus(BaseModel):
    """One replica as this proxy sees it."""

    url: str
    names: list[str]
    source: ReplicaSource
    level: Level
    state: ReplicaState
    cause: Cause | None = Field(description="What the level comes from; null: nothing is wrong.")
    why: str | None
    runbook: str | None = Field(description="Heading of docs/operations/runbooks.md.")
    drained: bool
    version: str | None
    replica_id: str | None
    reported_at: float | None = Field(description="Unix time of its last report, if that is more than 5 s ago.")
    in_flight: int | None = Field(description="Texts in flight there, by its last report; null: unknown.")
    load: int = Field(description="Texts that this proxy counts as its load when it selects.")
    latency_s: float | None = Field(
        description="About the seconds of a small request at its slowest pair, by the last answers; null before its first."
    )
    weight: float
    open_breakers: int
    models: list[ModelStatus]
    pairs: list[PairOfReplica] = Field(description="Those that are not ready or fail first.")
    more_pairs: int


class FleetStatus(BaseModel):
    """The answer to ``GET /status/data``, what is worst first.

    Without ``now``, the Unix time of the answer, which is added when it is sent.
    """

    status: HealthStatus
    version: str
    proxy: str
    can_operate: bool = Field(description="Whether operators can change the fleet here, with a token or key.")
    redis: RedisHealth
    redis_runbook: str | None
    proxies: list[ProxyLine]
    pairs: list[PairStatus]
    more_pairs: int
    services: dict[str, ServiceHealth]
    replicas: list[ReplicaStatus]
    more_replicas: int
    traffic: Traffic
    events: list[EventLine]


def stamped(content: bytes) -> bytes:
    """Return a rendered status with the time of now."""
    return b'{"now":%.1f,' % time.time() + content[1:]


@dataclass(slots=True)
class StatusView:
    """Renders the fleet as this proxy sees it; ``now`` is Unix seconds."""

    parts: ProxyContext
    now: float

    def render(self) -> bytes:
        """Return the status as JSON, the same while nothing changes."""
        return self.status().model_dump_json().encode()

    def status(self) -> FleetStatus:
        """Return the status."""
        parts, registry = self.parts, self.parts.fleet.registry
        own = parts.status.monitor.summary()
        summaries = [own, *parts.status.monitor.others]
        pairs = pair_lines(
            registry.snapshot, lambda pair: len(failing_replicas(parts.local_stats, pair, registry.snapshot))
        )
        redis_error, services = registry.redis_error, registry.services
        replicas, pair_statuses = self._replicas(), self._pairs(pairs)
        authenticator = parts.keys.authenticator
        return FleetStatus(
            status=fleet_status(registry.snapshot, pairs, services, redis_error),
            version=VERSION,
            proxy=own.name,
            can_operate=authenticator.on or bool(parts.settings.operator_token.get_secret_value()),
            redis=RedisHealth(up=redis_error is None, error=redis_error),
            redis_runbook=None if redis_error is None else "redis-is-away",
            proxies=[proxy_line(each, self.now, is_this=each is own) for each in summaries],
            pairs=pair_statuses,
            more_pairs=len(pairs) - len(pair_statuses),
            services=service_lines(services),
            replicas=replicas,
            more_replicas=len(registry.snapshot.replicas) - len(replicas),
            traffic=traffic(summaries, parts.status.monitor.last_slot),
            events=event_lines({each.name: each.events for each in summaries}),
        )

    def _pairs(self, pairs: Mapping[str, Mapping[str, int]]) -> list[PairStatus]:
        registry = self.parts.fleet.registry
        expected = self.parts.status.expectations.expected(registry.snapshot, registry.services)
        by_label = {str(pair): count for pair, count in expected.items()}
        found = [
            (diagnose_pair(ready=counts["ready"], failing=counts["failing"], expected=by_label[label]), label)
            for label, counts in pairs.items()
        ]
        found.sort(key=lambda each: LEVELS.index(each[0].level))
        return [
            PairStatus(pair=label, level=each.level, runbook=each.runbook, expected=by_label[label], **pairs[label])
            for each, label in found[:MAX_PAIRS]
        ]

    def _replicas(self) -> list[ReplicaStatus]:
        registry, local_stats = self.parts.fleet.registry, self.parts.local_stats
        view = FleetView(registry, local_stats, self.now)
        shown = heapq.nsmallest(MAX_REPLICAS, registry.snapshot.replicas.values(), key=self._place)
        lines = [self._replica(replica, view.line(replica)) for replica in shown]
        return sorted(lines, key=lambda line: LEVELS.index(line.level))

    def _place(self, replica: Replica) -> tuple[int, str]:
        """Return a replica's place before its line is known: the worst first."""
        if replica.state in _WORST_FIRST:
            return _WORST_FIRST[replica.state], replica.url
        stats = self.parts.local_stats.replicas.get(replica.url)
        is_out = stats is not None and any(each.is_out or each.is_stalled for each in stats.pairs.values())
        return (2 if is_out or not replica.is_healthy else 4), replica.url

    def _replica(self, replica: Replica, line: ReplicaLine) -> ReplicaStatus:
        stats = self.parts.local_stats.replica_stats(replica.url)
        found = diagnose_replica(line, is_stalled=any(each.is_stalled for each in stats.pairs.values()))
        report, reported_at = replica.report, replica.reported_at
        is_fresh = reported_at is None or self.now - reported_at <= FRESH_SECONDS
        pairs = sorted(line.pairs.items(), key=lambda each: (each[1].ready, each[1].breaker in _CLOSED))
        return ReplicaStatus(
            **line.model_dump(include={"url", "names", "source", "state", "drained", "weight"}),
            level=found.level,
            cause=found.cause,
            why=line.why[:MAX_WHY_CHARS] if line.why else None,
            runbook=found.runbook,
            version=report and report.version,
            replica_id=report and report.replica_id,
            reported_at=None if is_fresh or reported_at is None else round(reported_at, 1),
            in_flight=report.in_flight if report is not None and replica.state is not ReplicaState.DOWN else None,
            load=self.parts.local_stats.load(replica.url, self.parts.fleet.registry.snapshot),
            latency_s=_latency(stats),
            open_breakers=sum(each.breaker not in _CLOSED for each in line.pairs.values()),
            models=_models(line),
            pairs=[
                PairOfReplica(pair=label, **each.model_dump(exclude={"rank"}))
                for label, each in pairs[:MAX_PAIRS_OF_REPLICA]
            ],
            more_pairs=max(0, len(pairs) - MAX_PAIRS_OF_REPLICA),
        )


def _latency(stats: ReplicaStats) -> float | None:
    """Return seconds per unit of work, as of the last answers."""
    known = [each.latency.last for each in stats.pairs.values()]
    return max((round(each, MILLISECOND_DIGITS) for each in known if each is not None), default=None)


def _models(line: ReplicaLine) -> list[ModelStatus]:
    if line.report is None:
        return []
    fields = set(ModelStatus.model_fields) - {"name", "kv_used"}
    return [
        ModelStatus(name=name, kv_used=round(model.kv_used, PERCENT_DIGITS), **model.model_dump(include=fields))
        for name, model in line.report.models.items()
    ]
