"""ReplicaSelector: which replica gets a request, by breakers, reported capacity, latency and model."""

from __future__ import annotations

from proxy.balancing.attempt import Selection
from proxy.balancing.replica_stats import LONGEST_BACK_PRESSURE_SECONDS
from proxy.call import RequestCost
from proxy.upstream.response_classifier import AttemptOutcome
from shared.protocol.priority import Priority
from tests.proxy.balancing.local_fleet import EN_DE, A, B, LocalFleet
from tests.proxy.samples import models, replica, snapshot


def test_select_skips_after_three_failures_until_a_canary_passes() -> None:
    fleet = LocalFleet()
    for _ in range(3):
        fleet.finish_attempt(A, AttemptOutcome.FAILED)
    assert fleet.selected_urls() == {B}
    assert fleet.suspects == [A]
    fleet.local_stats.canary_passed(A, EN_DE, 0, 0.02)
    selection = fleet.selector.select(EN_DE, (), RequestCost(1.0), fleet.snapshot)
    assert selection is not None
    assert selection.url == A, "the trial"
    assert fleet.selector.select(EN_DE, (), RequestCost(1.0), fleet.snapshot) != selection, "one at a time"
    with fleet.local_stats.begin_attempt(selection, RequestCost(1.0)) as attempt:
        fleet.now += 0.02
        attempt.record_outcome(AttemptOutcome.GOOD)
    fleet.finish_attempt(B, AttemptOutcome.GOOD)
    fleet.now += 5
    assert fleet.selected_urls() == {A, B}
    fleet.local_stats.canary_passed(A, EN_DE, 0, 0.02)
    assert fleet.suspects == []


def test_release_gives_the_trial_to_another_request() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.FAILED, unreachable=True)
    fleet.now += 2
    first = fleet.selector.select(EN_DE, (), RequestCost(1.0), fleet.snapshot)
    assert first is not None
    assert first.url == A
    fleet.selector.release(first)
    fleet.now += 0.1
    second = fleet.selector.select(EN_DE, (), RequestCost(1.0), fleet.snapshot)
    assert second is not None
    assert second.url == A


def test_select_prefers_another_after_one_failure() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.GOOD)
    fleet.finish_attempt(B, AttemptOutcome.GOOD)
    fleet.finish_attempt(A, AttemptOutcome.FAILED)
    assert fleet.selected_urls() == {B}
    assert fleet.suspects == [A]
    fleet.local_stats.canary_passed(A, EN_DE, 0, 0.02)
    assert fleet.selected_urls() == {A, B}


def test_select_skips_an_unreachable_replica_at_once() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.FAILED, unreachable=True)
    assert fleet.selected_urls() == {B}


def test_select_ejects_at_most_half_of_the_replicas() -> None:
    fleet = LocalFleet()
    for url in (A, B):
        fleet.finish_attempt(url, AttemptOutcome.FAILED, unreachable=True)
    assert fleet.selected_urls() == {B}, "the first to fail is out, the other has to do"
    only = LocalFleet(snapshot(replica(A, "en>de")))
    only.finish_attempt(A, AttemptOutcome.FAILED, unreachable=True)
    assert only.selected_urls() == {A}


def test_select_ejects_every_replica_that_refuses_the_pair() -> None:
    fleet = LocalFleet(snapshot(*(replica(url, "en>de") for url in (A, B, "c", "d"))))
    for url in (A, B):
        fleet.finish_attempt(url, AttemptOutcome.REFUSED)
    fleet.finish_attempt("c", AttemptOutcome.FAILED, unreachable=True)
    assert fleet.selected_urls() == {"d"}
    fleet.finish_attempt("d", AttemptOutcome.REFUSED)
    assert fleet.selected_urls() == {"c"}
    fleet.finish_attempt("c", AttemptOutcome.REFUSED)
    assert fleet.selector.select(EN_DE, (), RequestCost(1.0), fleet.snapshot) is None
    fleet.now += 2
    assert fleet.selector.select(EN_DE, (), RequestCost(1.0), fleet.snapshot) is not None, (
        "a trial, when the back-off is over"
    )


def test_select_skips_a_full_replica_unless_all_are_full() -> None:
    fleet = LocalFleet()
    fleet.finish_attempt(A, AttemptOutcome.FULL)
    assert fleet.selected_urls() == {B}
    fleet.finish_attempt(B, AttemptOutcome.FULL)
    assert fleet.selected_urls() == {A, B}
    fleet.now += 2.1
    fleet.finish_attempt(A, AttemptOutcome.FULL)
    assert fleet.selected_urls() == {B}
    assert fleet.suspects == []


def test_select_skips_a_replica_at_its_reported_limit() -> None:
    full, free = models(ahead=10, limit=10), models(ahead=9, limit=10)
    fleet = LocalFleet(snapshot(replica(A, "en>de", models=full), replica(B, "en>de", models=free)))
    assert fleet.selected_urls() == {B}


def test_select_counts_requests_sent_since_the_report() -> None:
    some = models(ahead=9, limit=10)
    fleet = LocalFleet(
        snapshot(replica(A, "en>de", models=some), replica(B, "en>de", models=models(ahead=0, limit=10)))
    )
    with fleet.attempt(A, texts=2):
        assert fleet.selected_urls() == {B}
    assert fleet.selected_urls() == {A, B}


def test_select_sends_urgent_work_where_bulk_is_full() -> None:
    fleet = LocalFleet()
    bulk, urgent = RequestCost(1.0, priority=Priority.BULK), RequestCost(1.0)
    permit = fleet.local_stats.pair_replica_stats(A, EN_DE).breaker.acquire()
    with fleet.local_stats.begin_attempt(Selection(A, EN_DE, 0, permit, "m"), bulk) as attempt:
        attempt.record_outcome(AttemptOutcome.FULL, full_for=60.0)
    assert fleet.selected_urls(cost=bulk) == {B}
    assert fleet.selected_urls(cost=urgent) == {A, B}
    fleet.now += LONGEST_BACK_PRESSURE_SECONDS
    assert fleet.selected_urls(cost=bulk) == {A, B}, "Retry-After is not how long it stays full"


def test_select_uses_the_preferred_model_until_it_is_out() -> None:
    fleet = LocalFleet(snapshot(replica(A, "en>de", rank=1), replica(B, "en>de")))
    assert fleet.selected_urls() == {B}
    fleet.finish_attempt(B, AttemptOutcome.FAILED, unreachable=True)
    assert fleet.selected_urls() == {A}


def test_select_avoids_a_slow_replica_until_a_canary_passes() -> None:
    fleet = LocalFleet()
    for _ in range(30):
        fleet.finish_attempt(B, AttemptOutcome.GOOD)
    fleet.finish_attempt(A, AttemptOutcome.GOOD, seconds=1.5)
    assert fleet.selected_urls() == {B}
    assert fleet.suspects == [], "its own requests tell how it is"
    fleet.now += 0.6
    assert fleet.suspects == [A]
    fleet.finish_attempt(B, AttemptOutcome.GOOD)
    fleet.local_stats.canary_passed(A, EN_DE, 0, 0.02)
    assert fleet.suspects == []
    assert fleet.selected_urls() == {A, B}
