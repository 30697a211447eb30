"""The JSON of ``GET /status/data``."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, Field

from proxy.api.views.diagnosis import LEVELS, Level, diagnose_pair
from proxy.api.views.health_view import (
    HealthStatus,
    RedisHealth,
    ServiceHealth,
    fleet_status,
    pair_lines,
    service_lines,
)
from proxy.api.views.replica_view import ReplicaStatus, ReplicaView
from proxy.api.views.traffic_view import EventLine, ProxyLine, Traffic, event_lines, proxy_line, traffic
from proxy.context import ProxyContext
from shared.version import VERSION

# Lines of a large fleet, the worst first.
MAX_REPLICAS: Final = 200
MAX_PAIRS: Final = 500


class PairStatus(BaseModel):
    """One known pair; ``expected`` comes from the expected replicas of its services."""

    pair: str
    level: Level
    ready: int
    failing: int
    expected: int
    total: int
    runbook: str | None


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
        pairs = pair_lines(registry.snapshot, parts.local_stats)
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
        registry = self.parts.fleet.registry
        snapshot = registry.snapshot
        views = (ReplicaView(each, snapshot, self.parts.local_stats, self.now) for each in snapshot.replicas.values())
        shown = heapq.nsmallest(MAX_REPLICAS, views, key=lambda view: (view.urgency, view.replica.url))
        lines = [view.status(registry.names.get(view.replica.url, ()), registry.configured) for view in shown]
        return sorted(lines, key=lambda line: LEVELS.index(line.level))
