"""The JSON of ``GET /fleet`` and of the answers to overrides."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from proxy.api.health_view import ServiceHealth
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import EligibleReplica, score
from proxy.call import work_of
from proxy.fleet.admin import AppliedOverride
from proxy.fleet.overrides import Override
from proxy.fleet.registry import Registry
from proxy.fleet.replica import DRAINED, Replica, ReplicaState
from shared.protocol.priority import Lane
from shared.protocol.report import ModelReport

ReplicaSource = Literal["settings", "operator"]


class LastReport(BaseModel):
    """The last good report, with its age in seconds.

    The server's load and capacity include the requests of all proxies.
    """

    age_s: float
    replica_id: str
    version: str
    in_flight: int
    models: dict[str, ModelReport]


class PairLine(BaseModel):
    """One pair of a replica; ``rank`` 0 is the pair's preferred model."""

    ready: bool
    why: str | None
    model: str
    rank: int
    breaker: str | None = Field(description="State of this proxy's circuit breaker; null: none yet.")


class ReplicaLine(BaseModel):
    """One replica of the fleet as this proxy sees it."""

    url: str
    names: list[str] = Field(description="Configured URLs, by settings or operators, that resolve to it.")
    source: ReplicaSource
    state: ReplicaState
    drained: bool = Field(description="Whether an operator drained it.")
    why: str | None = Field(description="Why it gets no requests, or none for some pairs; null: it gets all.")
    weight: float
    in_flight: int = Field(description="Texts of this proxy in flight there.")
    score: float | None = Field(description="Score by which this proxy selects replicas; lower is better.")
    report: LastReport | None
    pairs: dict[str, PairLine]


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

    async def fleet(self) -> bytes:
        """Return ``Fleet`` as JSON: every replica, and every override in force.

        The event loop runs between two replicas, because thousands of pairs take 20 ms.
        """
        lines: list[bytes] = []
        for replica in self.registry.snapshot.replicas.values():
            lines.append(self.line(replica).model_dump_json().encode())
            await asyncio.sleep(0)
        overrides = sorted(self.registry.overrides.all(), key=lambda each: each.url)
        changes = [_change_line(each).model_dump_json().encode() for each in overrides if not each.is_undone()]
        return b'{"replicas":[%s],"changes":[%s]}' % (b",".join(lines), b",".join(changes))

    def changed(self, applied: AppliedOverride) -> Changed:
        """Return an override and its replicas."""
        replicas = self.registry.snapshot.replicas
        return Changed(
            change=_change_line(applied.override),
            shared=applied.shared,
            replicas=[self.line(replicas[url]) for url in applied.urls],
        )

    def line(self, replica: Replica) -> ReplicaLine:
        """Return one replica's line."""
        names, report = self.registry.names.get(replica.url, ()), replica.report
        stats = self.local_stats.replica_stats(replica.url)
        serving = replica.state is ReplicaState.READY
        pairs = {
            str(pair): PairLine(
                ready=serving and each.ready,
                why=None if serving and each.ready else each.why or replica.why,
                model=each.model,
                rank=each.rank,
                breaker=str(stats.pairs[pair].breaker.state) if pair in stats.pairs else None,
            )
            for pair, each in (report.pairs.by_pair.items() if report else ())
        }
        return ReplicaLine(
            url=replica.url,
            names=list(names),
            source="settings" if set(names) & set(self.registry.configured) else "operator",
            state=replica.state,
            drained=replica.drained,
            why=self._why_out(replica, pairs),
            weight=replica.weight,
            in_flight=stats.texts,
            score=self._score(replica),
            report=self._last_report(replica),
            pairs=pairs,
        )

    def _last_report(self, replica: Replica) -> LastReport | None:
        report = replica.report
        if report is None or replica.reported_at is None:
            return None
        return LastReport(
            age_s=round(max(0.0, self.now - replica.reported_at), 1),
            replica_id=report.replica_id,
            version=report.version,
            in_flight=report.in_flight,
            models=report.models,
        )

    def _score(self, replica: Replica) -> float | None:
        # The score for an empty text of its worst pair.
        stats = self.local_stats.replica_stats(replica.url)
        eligible = [
            EligibleReplica(
                latency=latency, in_flight=stats.work + stats.foreign_texts, weight=replica.weight, penalty=each.penalty
            )
            for each in stats.pairs.values()
            if (latency := each.latency.value) is not None
        ]
        return max((round(score(each, work_of(0)), 4) for each in eligible), default=None)

    def _why_out(self, replica: Replica, pairs: Mapping[str, PairLine]) -> str | None:
        if replica.state is not ReplicaState.READY:
            why = replica.why or f"it is {replica.state}"
            return f"{why}; {DRAINED} too" if replica.drained and why != DRAINED else why
        if why := self._why_avoided(replica.url):
            return why
        out = [f"{label} ({line.why or 'no reason given'})" for label, line in pairs.items() if not line.ready]
        return f"not ready for {', '.join(out)}" if out else None

    def _why_avoided(self, url: str) -> str | None:
        stats = self.local_stats.replica_stats(url)
        stalled = [str(pair) for pair, each in stats.pairs.items() if each.is_stalled]
        if stalled:
            return f"its requests of {', '.join(stalled)} make no progress, while those of other replicas do"
        out = [
            f"the breaker of {pair} is {each.breaker.state}: {each.failed_with}"
            for pair, each in stats.pairs.items()
            if each.is_out
        ]
        if out:
            return "; ".join(out)
        is_full = any(stats.is_full(self.local_stats.now(), lane) for lane in Lane)
        return "it is full and asked for no more requests" if is_full else None


def _change_line(override: Override) -> ChangeLine:
    return ChangeLine(**override.model_dump(include=set(ChangeLine.model_fields)))
