"""Outlier detection: suspects, failing replicas, and replicas that stand still."""

from __future__ import annotations

from proxy.balancing.attempt import Selection
from proxy.balancing.outlier_detection import STALL_SECONDS, detect_stalls, failing_counts, failing_replicas
from proxy.call import RequestCost, work_of
from proxy.upstream.response_classifier import AttemptOutcome
from tests.proxy.balancing.local_fleet import EN_DE, A, B, LocalFleet
from tests.proxy.samples import pair


def test_replica_that_waits_for_its_trial_is_no_suspect() -> None:
    fleet = LocalFleet()
    for _ in range(3):
        fleet.finish_attempt(A, AttemptOutcome.FAILED)
    assert failing_replicas(fleet.local_stats, EN_DE, fleet.snapshot) == [A]
    fleet.local_stats.canary_passed(A, EN_DE, 0, 0.02)
    fleet.now += 60
    assert failing_replicas(fleet.local_stats, EN_DE, fleet.snapshot) == []
    assert fleet.suspects == []
    assert fleet.selector.select(EN_DE, (), RequestCost(1.0), fleet.snapshot) is not None
    fleet.finish_attempt(A, AttemptOutcome.FAILED)
    fleet.local_stats.canary_failed(A, EN_DE)
    assert failing_replicas(fleet.local_stats, EN_DE, fleet.snapshot) == [A]
    assert fleet.suspects == [A]
    assert failing_counts(fleet.local_stats, fleet.snapshot) == {EN_DE: 1}


def test_stalled_replica_loses_its_requests_when_others_answer() -> None:
    fleet = LocalFleet()
    lost_urls: list[str] = []
    with fleet.attempt(A, lost_urls=lost_urls) as attempt:
        fleet.now += STALL_SECONDS + 0.1
        detect_stalls(fleet.local_stats)
        assert lost_urls == [], "nobody answers: it may be the fleet_snapshot that is slow"
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
        detect_stalls(fleet.local_stats)
        assert (lost_urls, fleet.suspects) == ([A], [A])
        assert fleet.selected_urls() == {B}
        attempt.stats.record_progress()
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
        detect_stalls(fleet.local_stats)
        assert lost_urls == [A], "a part of an answer is progress"


def test_long_text_is_no_stall() -> None:
    fleet = LocalFleet()
    for _ in range(30):
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
    lost_urls: list[str] = []
    long = fleet.local_stats.begin_attempt(Selection(A, EN_DE, 0, None, "m"), RequestCost(work_of(100_000)))
    long.on_lost = lambda: lost_urls.append(A)
    with long:
        fleet.now += 20
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
        detect_stalls(fleet.local_stats)
        assert lost_urls == []


def test_stall_behind_a_long_text_or_beside_a_live_pair_is_found() -> None:
    fleet = LocalFleet()
    lost_urls: list[str] = []
    local_stats = fleet.local_stats
    long = local_stats.begin_attempt(Selection(A, EN_DE, 0, None, "m"), RequestCost(work_of(200_000)))
    with long, fleet.attempt(A, lost_urls=lost_urls):
        fleet.now += STALL_SECONDS + 0.5
        with local_stats.begin_attempt(Selection(A, pair("en>fr"), 0, None, "m"), RequestCost(1.0)) as other:
            other.record_outcome(AttemptOutcome.GOOD)
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
        detect_stalls(local_stats)
        assert lost_urls == [A]
        assert fleet.selected_urls() == {B}


def test_good_answer_ends_suspicion_without_canaries() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.FAILED)
    assert fleet.suspects == [A]
    fleet.finish_attempt(A, AttemptOutcome.GOOD)
    assert fleet.suspects == []
