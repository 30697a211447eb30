"""One replica in three depths: ``/health``, ``/fleet``, ``/status``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from proxy.api.views.issue_view import MAX_WHY_CHARS, since_fields
from proxy.balancing.circuit_breaker import BreakerState
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.replica_stats import ReplicaStats
from proxy.balancing.selector import EligibleReplica, score
from proxy.call import work_of
from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.status.diagnosis import Cause, IssueCode, Level, diagnosis_of, why_out
from proxy.status.monitor import StatusMonitor
from shared.protocol.report import ModelReport, PairReport

MAX_PAIRS_OF_REPLICA: Final = 50
# Younger reports need no mention.
FRESH_SECONDS: Final = 5.0
MILLISECOND_DIGITS: Final = 3
PERCENT_DIGITS: Final = 2
# The order of replicas on the status page before their lines are known; ready ones that fail are 2.
_URGENCY: Final = {ReplicaState.DOWN: 0, ReplicaState.STARTING: 1, ReplicaState.DRAINING: 3, ReplicaState.READY: 4}
_FAILS: Final = 2
# Fields of ReplicaPairHealth by pair; replicas that report equal pairs share them.
PairFields = dict[str, dict[str, object]]
SharedPairFields = dict[tuple[int, bool, str | None], PairFields]
ReplicaSource = Literal["settings", "operator"]


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


class LastReport(BaseModel):
    """The last good report, of all proxies' requests; its age in seconds."""

    age_s: float
    replica_id: str
    version: str
    in_flight: int
    models: dict[str, ModelReport]


class PairLine(ReplicaPairHealth):
    """One pair of a replica; ``rank`` 0 is the pair's preferred model."""

    model: str
    rank: int
    breaker: str | None = Field(description="State of this proxy's circuit breaker; null: none yet.")

    @property
    def is_broken(self) -> bool:
        """Whether its breaker lets no or few requests through."""
        return self.breaker not in {None, BreakerState.CLOSED}


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


class SolePairs(BaseModel):
    """Pairs of which a replica is the last ready one."""

    pairs: list[str]
    more: int = 0
    requests: int | None = Field(default=0, description="Theirs of the last minute, as asked; null: not known.")


class ReplicaStatus(BaseModel):
    """One replica as this proxy sees it."""

    url: str
    names: list[str]
    source: ReplicaSource
    level: Level
    state: ReplicaState
    cause: Cause | None = Field(description="What the level comes from; null: nothing is wrong.")
    why: str | None
    runbook: str | None = Field(description="Page of docs/operations/runbooks/.")
    drained: bool
    since: float | None = Field(description="Unix time of the beginning of its state; null: before this proxy's start.")
    at_least: bool = Field(description="Whether it may have begun before ``since``.")
    started_at: float | None = Field(description="Unix time of its server's start.")
    restarts: int = Field(description="Starts of its server that this proxy saw.")
    version: str | None
    replica_id: str | None
    runs_by: str | None = Field(description="What runs it and its name there, as it says: compose:apiserver-de.")
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
    sole: SolePairs


@dataclass(slots=True)
class ReplicaView:
    """One replica by its last report and our statistics; ``now``: Unix seconds.

    A thread may render it: it iterates over copies of what the event loop changes.
    """

    replica: Replica
    snapshot: Snapshot
    local_stats: LocalStats
    now: float

    @property
    def _stats(self) -> ReplicaStats:
        return self.local_stats.replicas.get(self.replica.url) or ReplicaStats()

    @property
    def _is_serving(self) -> bool:
        return self.replica.state is ReplicaState.READY

    @property
    def urgency(self) -> int:
        """Place among replicas whose lines are not known yet, 0 first."""
        stats = self.local_stats.replicas.get(self.replica.url)
        fails = stats is not None and any(each.is_failing for each in stats.pairs.values())
        return _FAILS if self._is_serving and (fails or not self.replica.is_healthy) else _URGENCY[self.replica.state]

    def health(self, shared: SharedPairFields) -> dict[str, object]:
        """Return the fields of ``ReplicaHealth``; equal pairs stand once in ``shared``.

        Dictionaries, because for 200 replicas with 50 pairs each they take 5 ms, pydantic models 18.
        """
        replica, report = self.replica, self.replica.report
        key = id(report and report.pairs), self._is_serving, replica.why
        if key not in shared:
            shared[key] = {
                str(pair): {"ready": self._is_ready(each), "why": self._why_unready(each)}
                for pair, each in (report.pairs.by_pair.items() if report else ())
            }
        return {
            "url": replica.url,
            "replica_id": report and report.replica_id,
            "version": report and report.version,
            "state": replica.state,
            "why": replica.why,
            "report_age_s": self._report_age,
            "in_flight": report and report.in_flight,
            "load": self.local_stats.load(replica.url, self.snapshot),
            "pairs": shared[key],
        }

    def line(self, names: Sequence[str], configured: Collection[str]) -> ReplicaLine:
        """Return its line; ``names`` are the URLs that resolve to it."""
        replica, stats = self.replica, self._stats
        pairs = self._pairs()
        return ReplicaLine(
            url=replica.url,
            names=list(names),
            source="settings" if set(names) & set(configured) else "operator",
            state=replica.state,
            drained=replica.drained,
            why=why_out(replica, self.snapshot, self.local_stats),
            weight=replica.weight,
            in_flight=stats.texts,
            score=self._score(),
            report=self._last_report(),
            pairs=pairs,
        )

    def status(
        self, names: Sequence[str], configured: Collection[str], sole: SolePairs, monitor: StatusMonitor | None = None
    ) -> ReplicaStatus:
        """Return its line with what is wrong and what helps, within limits."""
        replica, stats, line = self.replica, self._stats, self.line(names, configured)
        found = diagnosis_of(replica, self.local_stats)
        report, reported_at = replica.report, replica.reported_at
        is_fresh = reported_at is None or self.now - reported_at <= FRESH_SECONDS
        pairs = sorted(line.pairs.items(), key=lambda each: (each[1].ready, not each[1].is_broken))
        return ReplicaStatus(
            **line.model_dump(include={"url", "names", "source", "state", "drained", "weight"}),
            level=found.level,
            cause=found.cause,
            why=line.why[:MAX_WHY_CHARS] if line.why else None,
            runbook=found.code,
            started_at=report and round(report.started_at, 1),
            **_times(replica.url, found.code, monitor),
            version=report and report.version,
            replica_id=report and report.replica_id,
            runs_by=report and report.runs_by,
            reported_at=None if is_fresh or reported_at is None else round(reported_at, 1),
            in_flight=report.in_flight if report is not None and replica.state is not ReplicaState.DOWN else None,
            load=self.local_stats.load(replica.url, self.snapshot),
            latency_s=_latency(stats),
            open_breakers=sum(pair.is_broken for pair in line.pairs.values()),
            models=_models(line),
            pairs=[
                PairOfReplica(pair=label, **each.model_dump(exclude={"rank"}))
                for label, each in pairs[:MAX_PAIRS_OF_REPLICA]
            ],
            more_pairs=max(0, len(pairs) - MAX_PAIRS_OF_REPLICA),
            sole=sole,
        )

    def _is_ready(self, pair: PairReport) -> bool:
        return self._is_serving and pair.ready

    def _why_unready(self, pair: PairReport) -> str | None:
        return None if self._is_ready(pair) else pair.why or self.replica.why

    def _pairs(self) -> dict[str, PairLine]:
        replica, stats = self.replica, self._stats
        return {
            str(pair): PairLine(
                ready=self._is_ready(each),
                why=self._why_unready(each),
                model=each.model,
                rank=each.rank,
                breaker=str(found.breaker.state) if (found := stats.pairs.get(pair)) is not None else None,
            )
            for pair, each in (replica.report.pairs.by_pair.items() if replica.report else ())
        }

    @property
    def _report_age(self) -> float | None:
        reported_at = self.replica.reported_at
        return None if reported_at is None else round(max(0.0, self.now - reported_at), 1)

    def _last_report(self) -> LastReport | None:
        report, age = self.replica.report, self._report_age
        if report is None or age is None:
            return None
        return LastReport(
            age_s=age,
            replica_id=report.replica_id,
            version=report.version,
            in_flight=report.in_flight,
            models=report.models,
        )

    def _score(self) -> float | None:
        # The score for an empty text of its worst pair.
        stats = self._stats
        in_flight = stats.work + stats.foreign_texts
        eligible = [
            EligibleReplica(latency, in_flight, self.replica.weight, each.penalty)
            for each in tuple(stats.pairs.values())
            if (latency := each.latency.value) is not None
        ]
        return max((round(score(each, work_of(0)), 4) for each in eligible), default=None)


def _times(url: str, code: IssueCode | None, monitor: StatusMonitor | None) -> dict[str, Any]:
    """Return the beginning of a replica's state, and its restarts."""
    if monitor is None:
        return {**since_fields(None), "restarts": 0}
    history = monitor.detector.replicas.get(url)
    return {**since_fields(monitor.since(code, url)), "restarts": 0 if history is None else history.restarts}


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
