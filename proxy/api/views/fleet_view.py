"""The fleet in three depths: ``/health``, ``/fleet``, ``/status/data``."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, Field
from pydantic_core import to_json

from proxy.api.views.issue_view import MAX_ISSUES, HealthIssue, IssueLine, health_issues, issue_lines, since_fields
from proxy.api.views.replica_view import (
    ReplicaHealth,
    ReplicaLine,
    ReplicaStatus,
    ReplicaView,
    SharedPairFields,
    SolePairs,
)
from proxy.api.views.traffic_view import EventLine, PairTraffic, ProxyLine, Traffic, event_lines, proxy_lines, traffic
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.outlier_detection import failing_replicas
from proxy.context import ProxyContext
from proxy.fleet.admin import AppliedOverride
from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.fleet.overrides import Override
from proxy.fleet.registry import Registry
from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.status.diagnosis import LEVELS, IssueCode, Level, diagnose_pair
from proxy.status.issue_times import DatedIssue
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
    expected: int | None = Field(description="As operators stated it; null: no number stated.")
    learnt: bool = Field(default=False, description="Always false; it will go.")
    why: str | None = Field(description="What is missing, or that no number is stated; null: all is as stated.")


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
    issues: list[HealthIssue] = Field(description="What is wrong now, the worst first.")


def health(
    snapshot: Snapshot,
    services: Sequence[ServiceReplicas],
    local_stats: LocalStats,
    issues: Sequence[DatedIssue] = (),
    *,
    redis_error: str | None,
    leading: bool,
    uptime: float,
    now: float,
) -> tuple[HealthStatus, bytes]:
    """Return the fleet's status and its ``Health`` as JSON."""
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
            "issues": health_issues(issues),
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


def sole_pairs(
    snapshot: Snapshot, local_stats: LocalStats, pairs: Mapping[str, Mapping[str, int]]
) -> dict[str, list[str]]:
    """Return the pairs that only one replica serves, by URL."""
    sole: dict[str, list[str]] = {}
    for pair, urls in snapshot.ready.items():
        counts = pairs[str(pair)]
        if counts["ready"] - counts["failing"] == 1:
            failing = failing_replicas(local_stats, pair, snapshot) if counts["failing"] else ()
            for url in (url for url in urls if url not in failing):
                sole.setdefault(url, []).append(str(pair))
    return sole


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


class ChangeLine(BaseModel):
    """An operator's change in force; ``at`` is its Unix time."""

    url: str
    verdict: str
    added: bool
    weight: float | None
    at: float


class Fleet(BaseModel):
    """The answer to ``GET /fleet``."""

    replicas: list[ReplicaLine]
    changes: list[ChangeLine]
    services: dict[str, ServiceHealth]


class Changed(BaseModel):
    """The answer to a change: the change in force, and its replicas."""

    change: ChangeLine
    shared: bool = Field(
        description="Whether Redis has the change, so that every proxy applies it within a sweep; false: this proxy "
        "applies it now, the others once Redis answers, and it is lost if this proxy stops before."
    )
    replicas: list[ReplicaLine]


class ExpectedServices(BaseModel):
    """The answer to ``PUT /fleet/expected``: all services."""

    shared: bool = Field(description="Whether Redis has it; false: the others follow once Redis answers.")
    services: dict[str, ServiceHealth]


@dataclass(slots=True)
class FleetView:
    """Renders the fleet with this proxy's statistics; ``now`` is Unix seconds."""

    registry: Registry
    local_stats: LocalStats
    now: float

    def fleet(self) -> bytes:
        """Return ``Fleet`` as JSON: replicas, overrides in force, services.

        In another thread, because thousands of pairs take 50 ms.
        """
        replicas = self.registry.snapshot.replicas.values()
        lines = [self._line(each).model_dump_json().encode() for each in replicas]
        overrides = sorted(self.registry.overrides.all(), key=lambda each: each.url)
        changes = [_change_line(each).model_dump_json().encode() for each in overrides if not each.is_undone()]
        services = to_json({name: each.model_dump() for name, each in service_lines(self.registry.services).items()})
        return b'{"replicas":[%s],"changes":[%s],"services":%s}' % (b",".join(lines), b",".join(changes), services)

    def changed(self, applied: AppliedOverride) -> Changed:
        """Return an override and its replicas."""
        replicas = self.registry.snapshot.replicas
        return Changed(
            change=_change_line(applied.override),
            shared=applied.shared,
            replicas=[self._line(replicas[url]) for url in applied.urls],
        )

    def _line(self, replica: Replica) -> ReplicaLine:
        registry = self.registry
        view = ReplicaView(replica, registry.snapshot, self.local_stats, self.now)
        return view.line(registry.names.get(replica.url, ()), registry.configured)


def _change_line(override: Override) -> ChangeLine:
    return ChangeLine(**override.model_dump(include=set(ChangeLine.model_fields)))


# Lines of a large fleet, the worst first.
MAX_REPLICAS: Final = 200
MAX_PAIRS: Final = 500
# That are named, of one replica.
MAX_SOLE_PAIRS: Final = 8
# That are named, of one pair; all of them would take a button each.
MAX_DRAINED: Final = 4


class PairStatus(BaseModel):
    """One known pair; ``expected``: null if no number is stated."""

    pair: str
    level: Level
    ready: int
    failing: int
    expected: int | None
    total: int
    runbook: str | None
    since: float | None = Field(
        description="Unix time at which it was lost or came back last; null: not since this proxy's start."
    )
    at_least: bool = Field(description="Whether it was lost before ``since``, when this proxy started.")
    requests: int | None = Field(description="Of the last minute, as asked, without clients' errors; null: not known.")
    failed: int | None = Field(description="Those of them that failed.")
    drained: list[str] = Field(description="Replicas of it that an operator drained.")


class FleetStatus(BaseModel):
    """``GET /status/data``, the worst first; its times are added when it is sent."""

    status: HealthStatus
    version: str
    proxy: str
    can_operate: bool = Field(description="Whether operators can change the fleet here, with a token or key.")
    redis: RedisHealth
    redis_runbook: str | None
    issues: list[IssueLine] = Field(description="What is wrong now, the worst first; as in /health.")
    more_issues: int
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
        asked = PairTraffic.of(summaries, self.now)
        replicas, pair_statuses = self._replicas(pairs, asked), self._pairs(pairs, asked)
        authenticator, issues = parts.keys.authenticator, parts.status.monitor.issues(registry.snapshot)
        return FleetStatus(
            status=fleet_status(registry.snapshot, pairs, services, redis_error),
            version=VERSION,
            proxy=own.name,
            can_operate=authenticator.on or bool(parts.settings.operator_token.get_secret_value()),
            redis=RedisHealth(up=redis_error is None, error=redis_error),
            redis_runbook=None if redis_error is None else IssueCode.REDIS_AWAY,
            issues=issue_lines(issues),
            more_issues=max(0, len(issues) - MAX_ISSUES),
            proxies=proxy_lines(own, parts.status.monitor.others, self.now),
            pairs=pair_statuses,
            more_pairs=len(pairs) - len(pair_statuses),
            services=service_lines(services),
            replicas=replicas,
            more_replicas=len(registry.snapshot.replicas) - len(replicas),
            traffic=traffic(summaries, parts.status.monitor.last_slot),
            events=event_lines({each.name: each.events for each in summaries}),
        )

    def _pairs(self, pairs: Mapping[str, Mapping[str, int]], asked: PairTraffic) -> list[PairStatus]:
        registry = self.parts.fleet.registry
        expected = self.parts.status.expectations.expected(registry.snapshot, registry.services)
        by_label = {str(pair): count for pair, count in expected.items()}
        found = [
            (diagnose_pair(ready=counts["ready"], failing=counts["failing"], expected=by_label[label]), label)
            for label, counts in pairs.items()
        ]
        found.sort(key=lambda each: LEVELS.index(each[0].level))
        monitor = self.parts.status.monitor
        drained: dict[str, list[str]] = {}
        for url, replica in registry.snapshot.replicas.items():
            for pair in replica.report.pairs.by_pair if replica.drained and replica.report else ():
                drained.setdefault(str(pair), []).append(url)
        return [
            PairStatus(
                pair=label,
                level=each.level,
                runbook=each.code,
                expected=by_label[label],
                requests=asked.find(label)[0],
                failed=asked.find(label)[1],
                drained=drained.get(label, [])[:MAX_DRAINED],
                **pairs[label],
                **since_fields(monitor.since(each.code, label)),
            )
            for each, label in found[:MAX_PAIRS]
        ]

    def _replicas(self, pairs: Mapping[str, Mapping[str, int]], asked: PairTraffic) -> list[ReplicaStatus]:
        registry = self.parts.fleet.registry
        snapshot = registry.snapshot
        views = (ReplicaView(each, snapshot, self.parts.local_stats, self.now) for each in snapshot.replicas.values())
        shown = heapq.nsmallest(MAX_REPLICAS, views, key=lambda view: (view.urgency, view.replica.url))
        sole = sole_pairs(snapshot, self.parts.local_stats, pairs)
        lines: list[ReplicaStatus] = []
        for view in shown:
            labels = sole.get(url := view.replica.url, [])
            more = max(0, len(labels) - MAX_SOLE_PAIRS)
            pairs_alone = SolePairs(pairs=labels[:MAX_SOLE_PAIRS], more=more, requests=asked.requests(labels))
            names = registry.names.get(url, ())
            lines.append(view.status(names, registry.configured, pairs_alone, self.parts.status.monitor))
        return sorted(lines, key=lambda line: LEVELS.index(line.level))


class Times(BaseModel):
    """Unix times: when a status was sent, and of its data."""

    now: float
    known_at: float = Field(
        description="The proxy's last sweep, or what is older and overdue: its last read of what other proxies share, or the rendering."
    )


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """The source of the status feed."""

    parts: ProxyContext

    def render(self) -> bytes:
        """Return the status without its times."""
        return StatusView(self.parts, time.time()).render()

    def times(self, behind: float) -> bytes:
        """Return ``Times`` as JSON; its content is ``behind`` seconds behind."""
        now = time.time()
        known_at = min(self.parts.status.monitor.known_at, now - behind)
        return Times(now=round(now, 1), known_at=round(known_at, 1)).model_dump_json().encode()
