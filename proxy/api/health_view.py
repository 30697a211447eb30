"""The JSON of ``GET /health`` and of ``GET /languages``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field
from pydantic_core import to_json

from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import Pivots, pivot_pairs
from shared.languages import LanguagePair
from shared.version import VERSION

HealthStatus = Literal["ok", "degraded", "down"]


class PairHealth(BaseModel):
    """Replicas ready for a known pair, those of them that this proxy found not to be, and those configured for it."""

    ready: int
    failing: int = Field(description="Ready by their reports, but kept out by this proxy's own statistics.")
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
    in_flight: int | None = Field(description="Texts it has in flight, from whichever proxy.")
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


class _Line(NamedTuple):
    """What of a replica's line stays as it is while it reports the same: what stands before its age, and its pairs."""

    replica: Replica
    head: bytes
    pairs: bytes


class HealthPage:
    """Writes the answer to ``GET /health`` as JSON.

    Mutable state: each replica's line but for its age and its load.
    With 1,000 replicas writing all of it again keeps the event loop for some 50 ms; ages, loads and the judgement are of
    the moment all the same.
    """

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def render(
        self,
        snapshot: Snapshot,
        *,
        redis_error: str | None,
        leading: bool,
        uptime: float,
        now: float,
        load: Callable[[str], int],
        failing: Callable[[LanguagePair], int],
    ) -> tuple[HealthStatus, bytes]:
        """Judge the fleet: ``down`` when no pair is ready, ``ok`` when nothing at all is amiss, else ``degraded``.

        ``load`` is what this proxy counts against a replica; ``failing`` counts the replicas that report a pair ready and
        that this proxy knows better of.
        """
        pairs = {
            str(pair): {"ready": len(urls), "failing": failing(pair) if urls else 0, "total": snapshot.total[pair]}
            for pair, urls in snapshot.ready.items()
        }
        status: HealthStatus
        if not any(pair["ready"] > pair["failing"] for pair in pairs.values()):
            status = "down"
        elif (
            all(pair["ready"] and not pair["failing"] for pair in pairs.values())
            and redis_error is None
            and all(replica.state is not ReplicaState.DOWN for replica in snapshot.replicas.values())
        ):
            status = "ok"
        else:
            status = "degraded"
        head = {
            "status": status,
            "version": VERSION,
            "uptime_s": round(uptime, 1),
            "redis": {"up": redis_error is None, "error": redis_error},
            "prober": leading,
            "pairs": pairs,
        }
        lines = b",".join(self._replica_lines(snapshot, now, load))
        return status, to_json(head)[:-1] + b',"replicas":[' + lines + b"]}"

    def _replica_lines(self, snapshot: Snapshot, now: float, load: Callable[[str], int]) -> Iterator[bytes]:
        before, self._lines = self._lines, {}
        pairs_cache: dict[tuple[int, bool, str | None], bytes] = {}
        for url, replica in snapshot.replicas.items():
            line = before.get(url)
            if line is None or (line.replica is not replica and not _alike(line.replica, replica)):
                line = _Line(replica, _head(replica), _pairs(replica, pairs_cache))
            elif line.replica is not replica:
                line = line._replace(replica=replica)  # the old report need not be kept
            self._lines[url] = line
            age, report = replica.reported_at, replica.report
            yield b'%b,"report_age_s":%b,"in_flight":%b,"load":%d,"pairs":%b}' % (
                line.head,
                b"null" if age is None else b"%.1f" % max(0.0, now - age),
                b"null" if report is None else b"%d" % report.in_flight,
                load(url),
                line.pairs,
            )


def _alike(before: Replica, now: Replica) -> bool:
    """Say whether a replica's line is the same but for its age and its load."""
    return _line_key(before) == _line_key(now)


def _line_key(replica: Replica) -> object:
    report = replica.report
    return replica.state, replica.why, report and (report.replica_id, report.version, report.pairs)


def _head(replica: Replica) -> bytes:
    report = replica.report
    fields = {
        "url": replica.url,
        "replica_id": report and report.replica_id,
        "version": report and report.version,
        "state": replica.state,
        "why": replica.why,
    }
    return to_json(fields)[:-1]


def _pairs(replica: Replica, cache: dict[tuple[int, bool, str | None], bytes]) -> bytes:
    """Return the pairs' part; replicas that report the same pairs (the very same object) share it."""
    if replica.report is None:
        return b"{}"
    pairs, serving = replica.report.pairs, replica.state is ReplicaState.READY
    key = id(pairs), serving, replica.why
    if key not in cache:
        cache[key] = to_json(
            {
                str(pair): {
                    "ready": serving and report.ready,
                    "why": None if serving and report.ready else report.why or replica.why,
                }
                for pair, report in pairs.by_pair.items()
            }
        )
    return cache[key]


def languages(snapshot: Snapshot, pivots: Pivots | None) -> Languages:
    """List every source language with its targets: known pairs, and what a pivot adds; and what can be served now."""
    targets = {
        pair: Target(lang=pair.target, ready=bool(urls), how="direct", pivot=None)
        for pair, urls in snapshot.ready.items()
    }
    for pair, (pivot, ready) in pivot_pairs(snapshot, pivots).items() if pivots is not None else ():
        if ready or pair not in targets:
            targets[pair] = Target(lang=pair.target, ready=ready, how="pivot", pivot=pivot)
    targets_by_source: dict[str, list[Target]] = {}
    for pair in sorted(targets):
        targets_by_source.setdefault(pair.source, []).append(targets[pair])
    return Languages(languages=[Language(lang=lang, targets=each) for lang, each in targets_by_source.items()])
