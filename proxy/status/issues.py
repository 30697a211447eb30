"""Issues: what is wrong with the fleet now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from proxy.balancing.local_stats import LocalStats
from proxy.balancing.outlier_detection import failing_replicas
from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.fleet.replica import ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.status.diagnosis import LEVELS, IssueCode, Level, diagnose_pair, diagnosis_of, is_full, why_out
from proxy.status.figure_ring import MINUTE_SLOTS, SLOTS, SlotFigures, class_of_reason, quantile, summed

# Fewer, or a smaller share, are single requests.
LEAST_REQUESTS: Final = 5
LEAST_SHARE: Final = 0.02
OVERLOADED: Final = "overloaded"
# p95 of a minute is slow from this multiple of that of the minutes before and these seconds on; both need so many answers,
# because a few long texts are no sign.
SLOW_FACTOR: Final = 3.0
SLOW_SECONDS: Final = 2.0
LEAST_ANSWERS: Final = 20
P95: Final = 0.95
# An engine comes back in seconds, so that nothing else may show its death: as long as the figures.
ENGINE_DEATH_SECONDS: Final = 900.0
# Causes of replicas that a dead engine explains.
_OF_ENGINES: Final = {IssueCode.REPLICA_STARTING, IssueCode.REPLICA_PAIRS_MISSING}

# A code and its subject.
IssueKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Issue:
    """Something wrong; its ``subject`` is a URL, pair or service.

    ``level`` bad: callers notice it or will. ``figures`` say how much.
    """

    code: IssueCode
    level: Level
    subject: str = ""
    why: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def key(self) -> IssueKey:
        """The same while the issue lasts."""
        return self.code, self.subject


def find_issues(
    snapshot: Snapshot,
    local_stats: LocalStats,
    services: Iterable[ServiceReplicas],
    *,
    redis_error: str | None,
    symptoms: Sequence[Issue],
    now: float,
) -> list[Issue]:
    """Return everything that is wrong, the worst first.

    ``symptoms`` are what requests and proxies show; ``now`` is Unix seconds. Any thread may ask.
    """
    issues = [*symptoms, *_pairs(snapshot, local_stats), *_replicas(snapshot, local_stats, now)]
    if redis_error is not None:
        issues.append(Issue(IssueCode.REDIS_AWAY, "warn", why=redis_error))
    issues += [
        Issue(
            IssueCode.REPLICAS_MISSING, "warn", each.service, each.why, {"ready": each.ready, "expected": each.expected}
        )
        for each in services
        if each.is_short and each.expected is not None
    ]
    reports = (each.report for each in snapshot.replicas.values() if each.state is ReplicaState.READY)
    issues += _versions("replicas", {report.version for report in reports if report is not None})
    return sorted(issues, key=lambda each: LEVELS.index(each.level))


def find_symptoms(figures: Iterable[SlotFigures], last: int, proxy_versions: Iterable[str]) -> list[Issue]:
    """Return what requests up to the slot ``last`` and proxies show."""
    known = [each for each in figures if last - SLOTS < each.slot <= last]
    minute = summed(last, (each for each in known if each.slot > last - MINUTE_SLOTS))
    before = summed(last, (each for each in known if each.slot <= last - MINUTE_SLOTS))
    return [*_failures(minute), *_slowness(minute, before), *_versions("proxies", set(proxy_versions))]


def _failures(minute: SlotFigures) -> Iterator[Issue]:
    requests = sum(count for kind, count in minute.classes.items() if kind != "client")

    def is_much(count: int) -> bool:
        return count >= LEAST_REQUESTS and count >= LEAST_SHARE * requests

    failed, refused = minute.classes.get("failed", 0), minute.codes.get(OVERLOADED, 0)
    if is_much(failed):
        reasons = (f"{code}: {count}" for code, count in minute.codes.items() if class_of_reason(code) == "failed")
        figures = {"failed": failed, "requests": requests}
        yield Issue(IssueCode.REQUESTS_FAILING, "bad", why=", ".join(reasons), figures=figures)
    if is_much(refused):
        yield Issue(IssueCode.OVERLOAD, "warn", figures={"refused": refused, "requests": requests})


def _slowness(minute: SlotFigures, before: SlotFigures) -> Iterator[Issue]:
    if min(sum(each.buckets.values()) for each in (minute, before)) < LEAST_ANSWERS:
        return
    now, usual = quantile(minute.buckets, P95) or 0.0, quantile(before.buckets, P95) or 0.0
    if now >= SLOW_SECONDS and now >= SLOW_FACTOR * usual:
        figures = {"p95_s": round(now, 3), "before_s": round(usual, 3)}
        yield Issue(IssueCode.ANSWERS_SLOW, "warn", figures=figures)


def _versions(subject: str, versions: set[str]) -> Iterator[Issue]:
    if len(versions) > 1:
        yield Issue(IssueCode.VERSIONS_DIFFER, "warn", subject, f"{subject}: {', '.join(sorted(versions))}")


def _pairs(snapshot: Snapshot, local_stats: LocalStats) -> Iterator[Issue]:
    if not snapshot.ready:
        yield Issue(IssueCode.PAIR_UNAVAILABLE, "bad")
    for pair, urls in snapshot.ready.items():
        stats = local_stats.pairs.get(pair)
        if urls and (stats is None or not (stats.outliers or stats.suspects)):
            continue  # nearly all of up to 20,000
        failing = len(failing_replicas(local_stats, pair, snapshot)) if urls else 0
        found = diagnose_pair(ready=len(urls), failing=failing, expected=None)
        if found.level == "bad" and found.code is not None:
            yield Issue(found.code, "bad", str(pair))


def _replicas(snapshot: Snapshot, local_stats: LocalStats, now: float) -> Iterator[Issue]:
    stats = tuple(local_stats.pairs.values())
    doubtful = {url for each in stats for url in (*tuple(each.outliers), *tuple(each.suspects))}
    for url, replica in snapshot.replicas.items():
        died_at = replica.report and replica.report.engine_died_at
        has_died = died_at is not None and now - died_at < ENGINE_DEATH_SECONDS
        if replica.is_healthy and not has_died and url not in doubtful and not is_full(url, local_stats):
            continue  # nearly all; the others' pairs are looked at
        found = diagnosis_of(replica, local_stats)
        if has_died and (found.code is None or found.code in _OF_ENGINES):
            yield Issue(IssueCode.ENGINE_DIED, "warn", url, why_out(replica, snapshot, local_stats))
        elif found.code is not None:
            yield Issue(found.code, found.level, url, why_out(replica, snapshot, local_stats))
        elif replica.state is ReplicaState.DOWN:  # drained, and /health is degraded by it
            yield Issue(IssueCode.REPLICA_DOWN, "warn", url, why_out(replica, snapshot, local_stats))
