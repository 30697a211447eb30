"""The JSON of ``GET /fleet``: every replica, where it comes from, how it is, and why it is out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from proxy.balancing.balancer import Candidate, score
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.overrides import Override
from proxy.fleet.replica import DRAINED, Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.request_cost import work_of
from shared.protocol.lanes import Lane
from shared.protocol.report import ModelReport

Source = Literal["settings", "operator"]


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """How a replica stands with this proxy: texts in flight, score (lower is better), breaker by pair, and why not."""

    in_flight: int
    score: float | None = None
    breakers: Mapping[str, str] = field(default_factory=dict[str, str])
    why: str | None = None


class ReplicaStatusView(Protocol):
    """Knows what this proxy has seen of the replicas itself."""

    def standing(self, url: str) -> ReplicaStatus:
        """Return how one replica stands."""
        ...


class LastReport(BaseModel):
    """The last good report: seconds since it, and what it says of the server, its load and room, from whichever proxy."""

    age_s: float
    replica_id: str
    version: str
    in_flight: int
    models: dict[str, ModelReport]


class PairLine(BaseModel):
    """One pair of a replica; ``rank`` is its model's place among all that serve the pair, 0 the preferred one."""

    ready: bool
    why: str | None
    model: str
    rank: int
    breaker: str | None = Field(description="This proxy's breaker, null where it has none yet.")


class ReplicaLine(BaseModel):
    """One replica of the fleet as this proxy sees it."""

    url: str
    names: list[str] = Field(description="URLs of the settings or of operators that lead to it.")
    source: Source
    state: ReplicaState
    drained: bool = Field(description="Whether an operator drained it.")
    why: str | None = Field(description="Why it gets no requests, or not for all of its pairs; null when it does.")
    weight: float
    in_flight: int = Field(description="Texts this proxy has there now.")
    score: float | None = Field(description="What this proxy picks by; lower is better.")
    report: LastReport | None
    pairs: dict[str, PairLine]


class ChangeLine(BaseModel):
    """What an operator changed and is in force; ``at`` is the Unix time of the last word on it."""

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
    """The answer to a change: what holds now, and the replicas it is about."""

    change: ChangeLine
    shared: bool = Field(
        description="Whether Redis has it, so that every proxy obeys within a sweep; false: this proxy does so now, "
        "the others as soon as Redis answers, and it is lost if this proxy ends before."
    )
    replicas: list[ReplicaLine]


def change_line(change: Override) -> ChangeLine:
    """Show a change."""
    return ChangeLine(**change.model_dump(include=set(ChangeLine.model_fields)))


def changes_in_force(changes: Iterable[Override]) -> list[ChangeLine]:
    """Show the changes without which the fleet would not be the same, by URL."""
    return [change_line(change) for change in sorted(changes, key=lambda each: each.url) if not change.is_undone()]


def replica_line(
    replica: Replica, names: Sequence[str], configured: Sequence[str], standing: ReplicaStatus, now: float
) -> ReplicaLine:
    """Show one replica at the Unix time ``now``."""
    report = replica.report
    age = None if replica.reported_at is None else round(max(0.0, now - replica.reported_at), 1)
    pairs = {
        str(pair.pair): PairLine(
            ready=replica.pairs[pair.pair],
            why=None if replica.pairs[pair.pair] else pair.why or replica.why,
            model=pair.model,
            rank=pair.rank,
            breaker=standing.breakers.get(str(pair.pair)),
        )
        for pair in (report.pairs.values() if report else ())
    }
    return ReplicaLine(
        url=replica.url,
        names=list(names),
        source="settings" if set(names) & set(configured) else "operator",
        state=replica.state,
        drained=replica.drained,
        why=_why(replica, pairs, standing),
        weight=replica.weight,
        in_flight=standing.in_flight,
        score=standing.score,
        report=None
        if report is None or age is None
        else LastReport(
            age_s=age,
            replica_id=report.replica_id,
            version=report.version,
            in_flight=report.in_flight,
            models=report.models,
        ),
        pairs=pairs,
    )


def _why(replica: Replica, pairs: Mapping[str, PairLine], standing: ReplicaStatus) -> str | None:
    """Say in one sentence why requests pass a replica by; the first reason is the one to look into."""
    if replica.state is not ReplicaState.READY:
        why = replica.why or f"it is {replica.state}"
        return f"{why}; {DRAINED} too" if replica.drained and why != DRAINED else why
    if standing.why:
        return standing.why
    out = [f"{label} ({line.why or 'no reason given'})" for label, line in pairs.items() if not line.ready]
    return f"not ready for {', '.join(out)}" if out else None


class LocalStatsView:
    """Implements ``fleet_view.LocalView`` over the evidence."""

    def __init__(self, evidence: LocalStats, snapshot: Callable[[], Snapshot]) -> None:
        """Take the evidence, and what gives the current Snapshot."""
        self._evidence = evidence
        self._snapshot = snapshot

    def standing(self, url: str) -> ReplicaStatus:
        """Return how one replica stands; its score is what it is chosen by for an empty text of its worst pair."""
        evidence, snapshot = self._evidence, self._snapshot()
        own = evidence.standing(url)
        replica = snapshot.replicas.get(url)
        foreign = 0 if replica is None else own.foreign
        weight = 1.0 if replica is None else replica.weight
        candidates = [
            Candidate(latency=latency, in_flight=own.work + foreign, weight=weight, penalty=each.penalty)
            for each in own.pairs.values()
            if (latency := each.latency.value) is not None
        ]
        return ReplicaStatus(
            in_flight=own.texts,
            score=max((round(score(each, work_of(0)), 4) for each in candidates), default=None),
            breakers={str(pair): str(each.breaker.state) for pair, each in own.pairs.items()},
            why=self._why(url),
        )

    def _why(self, url: str) -> str | None:
        """Say why this proxy passes it by; None where it does not."""
        own = self._evidence.standing(url)
        still = [str(pair) for pair, each in own.pairs.items() if each.stalls]
        if still:
            return f"it holds requests of {', '.join(still)} and makes no progress while others do"
        out = [
            f"the breaker of {pair} is {each.breaker.state}: {each.failed_with}"
            for pair, each in own.pairs.items()
            if each.is_out
        ]
        if out:
            return "; ".join(out)
        return (
            "it is full and asked to be left alone"
            if any(own.is_full(self._evidence.now(), lane) for lane in Lane)
            else None
        )
