"""Issues: what is wrong, by the fleet's state and by all proxies' figures."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from proxy.balancing.circuit_breaker import BreakerState
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.replica_stats import PairReplicaStats
from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from proxy.status.diagnosis import why_out
from proxy.status.figure_ring import SlotFigures
from proxy.status.issues import ENGINE_DEATH_SECONDS, Issue, find_issues, find_symptoms
from shared.protocol.report import ENGINE_STALLED, ServedPairs
from tests.proxy.samples import pair, replica, snapshot
from tests.support.clock import HandClock

NOW = 112.0
LAST = 1000
A, B = "http://a", "http://b"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def local_stats(clock: HandClock) -> LocalStats:
    return LocalStats(clock, Random(1))  # noqa: S311 - picks, not secrets


def found(fleet: Snapshot, local_stats: LocalStats, **more: Any) -> list[tuple[str, str, str]]:
    given: dict[str, Any] = {"services": (), "redis_error": None, "symptoms": (), "now": NOW, **more}
    return [(each.code.value, each.level, each.subject) for each in find_issues(fleet, local_stats, **given)]


def down(url: str, *pairs: str) -> Replica:
    return replica(url, *pairs).silent("refused", NOW, max_misses=1)


def with_dead_engine(url: str, died_at: float, **state: Any) -> Replica:
    one = replica(url, "en>de", **state)
    assert one.report is not None
    return one.model_copy(update={"report": one.report.model_copy(update={"engine_died_at": died_at})})


def test_fleet_without_trouble_has_no_issues(local_stats: LocalStats) -> None:
    stopping = replica("http://c", "en>de", state="draining")
    drained = replica(B, "en>de").with_override(drained=True, weight=None)
    assert found(snapshot(replica(A, "en>de"), drained, stopping), local_stats) == []


def test_worst_issues_come_first(local_stats: LocalStats) -> None:
    fleet = snapshot(
        replica(A, "en>de", starting=("en>fr",)),
        down(B, "en>es"),
        replica("http://c", starting=("en>de",), state="starting"),
    )
    services = (ServiceReplicas("de", 1, 2), ServiceReplicas("fr", 1, 1), ServiceReplicas("es", 1, None))
    assert found(fleet, local_stats, services=services, redis_error="refused") == [
        ("pair-unavailable", "bad", "en-es"),
        ("pair-unavailable", "bad", "en-fr"),
        ("replica-down", "bad", B),
        ("replica-pairs-missing", "warn", A),
        ("replica-starting", "warn", "http://c"),
        ("redis-away", "warn", ""),
        ("replicas-missing", "warn", "de"),
    ]


def fail(local_stats: LocalStats) -> PairReplicaStats:
    """Open the breaker of A."""
    stats = local_stats.pair_replica_stats(A, pair("en>de"))
    stats.record_failure(stats.breaker.acquire(), "timed out", at_once=True)
    local_stats.pairs[pair("en>de")].update_outlier(A, stats)
    return stats


def test_failing_replicas_and_their_pairs_are_issues(local_stats: LocalStats) -> None:
    fail(local_stats)
    alone = found(snapshot(replica(A, "en>de")), local_stats)
    assert alone == [("pair-failing", "bad", "en-de"), ("replica-failing", "bad", A)]
    assert found(snapshot(replica(A, "en>de"), replica(B, "en>de")), local_stats) == [("replica-failing", "bad", A)]


def test_breaker_that_waits_for_its_trial_is_no_issue(local_stats: LocalStats, clock: HandClock) -> None:
    one = replica(A, "en>de")
    stats = fail(local_stats)
    clock.now += 60
    assert stats.breaker.state is BreakerState.HALF_OPEN
    assert (found(snapshot(one), local_stats), why_out(one, snapshot(one), local_stats)) == ([], None)
    stats.canary_due_at = clock.now  # canaries go on, and fail
    assert found(snapshot(one), local_stats)[-1] == ("replica-failing", "bad", A)
    stats.record_success(None)
    assert found(snapshot(one), local_stats) == [], "a good canary"


def test_hung_engine_does_not_start(local_stats: LocalStats) -> None:
    for state, ready in (("starting", ()), ("ready", ("en>fr",))):
        starting = replica(A, *ready, starting=("en>de",), state=state)
        assert starting.report is not None
        hung = starting.report.pairs["en>de"].model_copy(update={"why": ENGINE_STALLED})
        pairs = ServedPairs(starting.report.pairs | {"en>de": hung})
        one = Replica.reported(A, starting.report.model_copy(update={"pairs": pairs}), NOW)
        assert found(snapshot(one), local_stats)[-1] == ("replica-stalled", "bad", A), state
        assert ENGINE_STALLED in (why_out(one, snapshot(one), local_stats) or "")
        gone = one.silent("refused", NOW, max_misses=1)
        assert found(snapshot(gone), local_stats)[-1] == ("replica-down", "bad", A)


def test_whatever_degrades_the_health_is_an_issue(local_stats: LocalStats) -> None:
    gone = down(B, "en>de").with_override(drained=True, weight=None)
    assert found(snapshot(replica(A, "en>de"), gone), local_stats) == [("replica-down", "warn", B)]
    assert found(snapshot(), local_stats) == [("pair-unavailable", "bad", "")]


def test_stalled_replica_is_compared_with_others_alone(local_stats: LocalStats) -> None:
    stats = local_stats.pair_replica_stats(A, pair("en>de"))
    stats.is_stalled, local_stats.pairs[pair("en>de")].suspects[A] = True, stats
    one, two = replica(A, "en>de"), replica(B, "en>de")
    assert found(snapshot(one), local_stats)[-1] == ("replica-stalled", "bad", A)
    assert why_out(one, snapshot(one), local_stats) == "its requests of en-de make no progress"
    assert "while those of other replicas do" in (why_out(one, snapshot(one, two), local_stats) or "")


def test_engine_that_died_is_an_issue_for_a_time(local_stats: LocalStats) -> None:
    died = [("engine-died", "warn", A)]
    assert found(snapshot(with_dead_engine(A, NOW - 1)), local_stats) == died
    assert found(snapshot(with_dead_engine(A, NOW - ENGINE_DEATH_SECONDS)), local_stats) == []
    starting = with_dead_engine(A, NOW - 1, starting=("en>fr",))
    assert found(snapshot(starting), local_stats)[1:] == died, "in place of what it explains"
    gone = with_dead_engine(A, NOW - 1).silent("refused", NOW, max_misses=1)
    assert found(snapshot(gone), local_stats)[1:] == [("replica-down", "bad", A)]


def test_replicas_of_two_versions_are_an_issue(local_stats: LocalStats) -> None:
    one, two = replica(A, "en>de"), replica(B, "en>de")
    assert two.report is not None
    two = two.model_copy(update={"report": two.report.model_copy(update={"version": "2"})})
    (issue,) = find_issues(snapshot(one, two), local_stats, (), redis_error=None, symptoms=(), now=NOW)
    assert (issue.code.value, issue.subject, issue.why) == ("versions-differ", "replicas", "replicas: 1, 2")


def slot(back: int, codes: Any = (), *, buckets: Any = (), **classes: int) -> SlotFigures:
    return SlotFigures.model_validate(
        {"slot": LAST - back, "classes": classes, "codes": dict(codes), "buckets": dict(buckets)}
    )


def symptoms(*figures: SlotFigures) -> list[Issue]:
    return find_symptoms(figures, LAST, ["1"])


def test_failures_of_a_minute_of_all_proxies_count() -> None:
    one = slot(0, {"replica-failed": 3, "invalid-request": 9}, ok=95, failed=3, client=9)
    two = slot(5, {"replica-failed": 1, "internal": 1, "unusable-output (client)": 1}, ok=95, failed=2, client=1)
    assert symptoms(one) == symptoms(one, slot(6, failed=90)) == []
    (issue,) = symptoms(one, two)
    assert (issue.code.value, issue.level, issue.why) == ("requests-failing", "bad", "replica-failed: 4, internal: 1")
    assert issue.figures == {"failed": 5, "requests": 195}
    assert symptoms(one, two, slot(1, ok=56)) == [], "fewer than 2 %"


def test_what_callers_chose_is_no_failure() -> None:
    assert symptoms(slot(0, {"unusable-output (client)": 40}, client=40)) == []


def test_refusals_for_lack_of_capacity_are_overload() -> None:
    (issue,) = symptoms(slot(0, {"overloaded": 5, "rate-limited": 50}, ok=100, refused=55))
    assert (issue.code.value, issue.figures) == ("overload", {"refused": 5, "requests": 155})
    assert symptoms(slot(0, {"rate-limited": 50}, refused=50)) == [], "a limit of the caller's own"


def test_slow_answers_are_several_times_as_slow_as_before() -> None:
    fast, slow = {5: 20}, {10: 20}  # 0.25 s and 10 s
    (issue,) = symptoms(slot(10, buckets=fast, ok=20), slot(0, buckets=slow, ok=20))
    assert (issue.code.value, issue.figures) == ("answers-slow", {"p95_s": 9.75, "before_s": 0.243})
    assert symptoms(slot(10, buckets=slow, ok=20), slot(0, buckets=slow, ok=20)) == []
    assert symptoms(slot(10, buckets=fast, ok=20), slot(0, buckets={10: 19}, ok=19)) == [], "single long texts"
    assert symptoms(slot(0, buckets=slow, ok=20)) == [], "nothing is known of before"


def test_proxies_of_two_versions_are_an_issue() -> None:
    (issue,) = find_symptoms((), LAST, ["2", "1", "2"])
    assert (issue.code.value, issue.why) == ("versions-differ", "proxies: 1, 2")
