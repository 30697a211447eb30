"""LocalStats: loads, latencies, failures and outliers; what snapshots reset, and what is forgotten."""

from __future__ import annotations

import asyncio

import pytest

from proxy.balancing.circuit_breaker import JITTER, LONGEST_BACK_OFF_SECONDS
from proxy.balancing.local_stats import Selection
from proxy.balancing.outlier_detection import STALL_SECONDS, failing_counts, failing_replicas, mark_stalled_replicas
from proxy.call import RequestCost, work_of
from proxy.upstream.response_classifier import AttemptOutcome
from tests.proxy.balancing.local_fleet import EN_DE, A, B, LocalFleet
from tests.proxy.samples import pair, replica, snapshot


@pytest.mark.parametrize("error", [ValueError(), asyncio.CancelledError(), KeyboardInterrupt()])
def test_in_flight_load_is_released_on_every_error(error: BaseException) -> None:
    fleet = LocalFleet()

    def fail() -> None:
        with fleet.attempt(texts=3), fleet.attempt(texts=2):
            assert fleet.local_stats.load(A, fleet.snapshot) == 5
            raise error

    with pytest.raises(type(error)):
        fail()
    assert fleet.local_stats.load(A, fleet.snapshot) == 0
    assert fleet.local_stats.replica_stats(A).work == 0
    assert fleet.suspects == [], "who leaves says nothing about the replica"


def test_load_counts_own_and_foreign_texts_once() -> None:
    fleet = LocalFleet(snapshot())
    with fleet.attempt(texts=2):
        fleet_snapshot = snapshot(replica(A, "en>de", in_flight=7), replica(B, "en>de"))
        fleet.local_stats.apply_snapshot(fleet_snapshot)
        assert fleet.local_stats.load(A, fleet_snapshot) == 7
        assert fleet.local_stats.load(B, fleet_snapshot) == 0
        with fleet.attempt(texts=1):
            assert fleet.local_stats.load(A, fleet_snapshot) == 8
    assert fleet.local_stats.load(A, fleet_snapshot) == 5, "ours are done, the others' remain until the next report"
    fleet.local_stats.apply_snapshot(fleet_snapshot)
    assert fleet.local_stats.load(A, fleet_snapshot) == 5, "the same report again changes nothing"


def test_load_ignores_requests_that_ended_before_the_report() -> None:
    fleet = LocalFleet()
    fleet.now += 10
    with fleet.attempt(texts=3):
        fleet.now += 0.02
    late = snapshot(replica(A, "en>de", in_flight=3, now=200.0), replica(B, "en>de", now=200.0))
    fleet.local_stats.apply_snapshot(late)
    assert fleet.local_stats.load(A, late) == 0
    fleet.now += 1
    later = snapshot(replica(A, "en>de", in_flight=3, now=201.0), replica(B, "en>de", now=201.0))
    fleet.local_stats.apply_snapshot(later)
    assert fleet.local_stats.load(A, later) == 3


def test_load_is_at_least_our_own() -> None:
    fleet = LocalFleet(snapshot())
    with fleet.attempt(texts=4):
        fleet_snapshot = snapshot(replica(A, "en>de", in_flight=1))
        fleet.local_stats.apply_snapshot(fleet_snapshot)
        assert fleet.local_stats.load(A, fleet_snapshot) == 4


def test_on_lost_is_called_only_for_requests_at_a_down_replica() -> None:
    fleet = LocalFleet()
    lost_urls: list[str] = []
    with (
        fleet.attempt(A, lost_urls=lost_urls),
        fleet.attempt(B, lost_urls=lost_urls),
        fleet.attempt("http://left", lost_urls=lost_urls),
    ):
        down = replica(A, "en>de").silent("refused", 2.0, max_misses=1)
        fleet.local_stats.apply_snapshot(snapshot(down, replica(B, "en>de")))
        assert lost_urls == [A]
    fleet.local_stats.apply_snapshot(snapshot(down))
    assert lost_urls == [A], "a replica that has gone is not notified"


def test_timeout_fails_only_an_overdue_request() -> None:
    fleet = LocalFleet()
    for seconds, doubted in ((0.05, []), (5.0, [A])):
        with fleet.attempt(A) as attempt:
            fleet.now += seconds
            attempt.timed_out = True
        assert fleet.suspects == doubted


def test_failed_canaries_open_the_breaker() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.FAILED)
    for _ in range(2):
        fleet.local_stats.canary_failed(A, EN_DE)
    assert fleet.local_stats.pair_replica_stats(A, EN_DE).is_out


def test_snapshot_resets_stats_of_a_restarted_replica() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.FAILED, unreachable=True)
    fleet.snapshot = snapshot(replica(A, "en>de", replica_id="another"), replica(B, "en>de"))
    fleet.local_stats.apply_snapshot(fleet.snapshot)
    fleet.now += 60
    assert fleet.selected_urls() == {A, B}
    assert fleet.suspects == []


def test_snapshot_resets_stats_of_a_pair_that_was_not_ready() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.REFUSED)
    fleet.local_stats.apply_snapshot(snapshot(replica(A, starting=("en>de",)), replica(B, "en>de")))
    fleet.local_stats.apply_snapshot(fleet.snapshot)
    assert fleet.selected_urls() == {A, B}


def test_snapshot_forgets_missing_replicas_and_pairs() -> None:
    fleet = LocalFleet(snapshot())
    for number in range(100):
        url = f"http://{number}"
        fleet.local_stats.apply_snapshot(snapshot(replica(url, "en>de")))
        fleet.finish_attempt(url, AttemptOutcome.FAILED)
    fleet.local_stats.apply_snapshot(snapshot())
    assert (fleet.local_stats.replicas, dict(fleet.local_stats.pairs)) == ({}, {})


def test_cancelled_request_raises_the_latency() -> None:
    fleet = LocalFleet()
    for _ in range(30):
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
    fleet.finish_attempt(A, AttemptOutcome.NONE, seconds=0.5)
    assert fleet.selected_urls() == {B}


def test_answered_error_leaves_the_latency_unknown() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.ANSWERED, seconds=0.0001)
    assert fleet.local_stats.pair_replica_stats(A, EN_DE).latency.value is None
    assert fleet.suspects == []


def test_old_answer_does_not_end_back_pressure() -> None:
    fleet = LocalFleet()
    with fleet.attempt(A) as old:
        fleet.now += 0.01
        fleet.finish_attempt(A, AttemptOutcome.FULL)
        old.record_outcome(AttemptOutcome.GOOD)
    assert fleet.selected_urls() == {B}


def test_result_of_a_replaced_process_is_ignored() -> None:
    fleet = LocalFleet()
    lost_urls: list[str] = []
    with fleet.attempt(A, lost_urls=lost_urls) as old:
        fleet_snapshot = snapshot(replica(A, "en>de", replica_id="another"), replica(B, "en>de"))
        fleet.local_stats.apply_snapshot(fleet_snapshot)
        assert lost_urls == [A]
        old.record_outcome(AttemptOutcome.FAILED)
    assert fleet.suspects == []
    assert fleet.local_stats.load(A, fleet_snapshot) == 0


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


def test_replica_that_nobody_tries_fails_until_its_trial_is_due() -> None:
    fleet = LocalFleet()
    for _ in range(3):
        fleet.finish_attempt(A, AttemptOutcome.FAILED)
    stats = fleet.local_stats.pair_replica_stats(A, EN_DE)
    assert failing_replicas(fleet.local_stats, EN_DE, fleet.snapshot) == [A]
    fleet.now += LONGEST_BACK_OFF_SECONDS * (1 + JITTER)
    assert stats.is_out
    assert failing_replicas(fleet.local_stats, EN_DE, fleet.snapshot) == [], "no canary says that it still fails"
    fleet.local_stats.canary_failed(A, EN_DE)
    stats.canary_due_at = fleet.now + 0.3
    assert failing_replicas(fleet.local_stats, EN_DE, fleet.snapshot) == [A]


def test_stalled_replica_loses_its_requests_when_others_answer() -> None:
    fleet = LocalFleet()
    lost_urls: list[str] = []
    with fleet.attempt(A, lost_urls=lost_urls) as attempt:
        fleet.now += STALL_SECONDS + 0.1
        mark_stalled_replicas(fleet.local_stats)
        assert lost_urls == [], "nobody answers: it may be the fleet_snapshot that is slow"
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
        mark_stalled_replicas(fleet.local_stats)
        assert (lost_urls, fleet.suspects) == ([A], [A])
        assert fleet.selected_urls() == {B}
        attempt.stats.record_progress()
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
        mark_stalled_replicas(fleet.local_stats)
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
        mark_stalled_replicas(fleet.local_stats)
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
        mark_stalled_replicas(local_stats)
        assert lost_urls == [A]
        assert fleet.selected_urls() == {B}


def test_good_answer_ends_suspicion_without_canaries() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.FAILED)
    assert fleet.suspects == [A]
    fleet.finish_attempt(A, AttemptOutcome.GOOD)
    assert fleet.suspects == []
