"""What a proxy has seen itself: in flight, the load of others, failures, who stands still, who is well again."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from proxy.balancing.attempt import Attempt, Selection
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.outlier_detection import STALL_SECONDS, detect_stalls, failing_replicas, find_suspects
from proxy.balancing.replica_stats import LONGEST_BACK_PRESSURE_SECONDS
from proxy.balancing.selector import ReplicaSelector
from proxy.fleet.snapshot import Snapshot
from proxy.request_cost import RequestCost, work_of
from proxy.upstream.response_classifier import AttemptOutcome
from shared.protocol.priority import Priority
from tests.proxy.samples import models, pair, replica, snapshot

A, B = "http://a", "http://b"
EN_DE = pair("en>de")


class Scene:
    """Evidence with a clock that a test moves, a fleet, and a chooser."""

    def __init__(self, fleet: Snapshot | None = None) -> None:
        self.now = 1000.0
        rng = Random(7)  # noqa: S311 - picks, not secrets
        self.evidence = LocalStats(lambda: self.now, rng)
        self.chooser = ReplicaSelector(self.evidence, rng)
        self.fleet = snapshot(replica(A, "en>de"), replica(B, "en>de")) if fleet is None else fleet
        self.evidence.apply_snapshot(self.fleet)
        for url in self.fleet.ready.get(EN_DE, ()):
            self.evidence.pair_replica_stats(url, EN_DE)
        self.now += 60  # nobody is new

    def attempt(self, url: str = A, texts: int = 1, lost: list[str] | None = None) -> Attempt:
        permit = self.evidence.pair_replica_stats(url, EN_DE).breaker.acquire()
        tell = (lambda: None) if lost is None else (lambda: lost.append(url))
        return self.evidence.begin_attempt(
            Selection(url, EN_DE, 0, permit, "m"), RequestCost(work_of(0, texts), texts), tell
        )

    def ends(self, url: str, verdict: AttemptOutcome, seconds: float = 0.02, *, unreachable: bool = False) -> None:
        with self.attempt(url) as attempt:
            self.now += seconds
            attempt.record_outcome(verdict, full_for=2.0, unreachable=unreachable)

    def chosen(self, count: int = 50, freight: RequestCost = RequestCost(1.0)) -> set[str]:  # noqa: B008 - immutable
        """Return who gets so many requests, without their coming to anything."""
        found: set[str] = set()
        for _ in range(count):
            choice = self.chooser.select(EN_DE, (), freight, self.fleet)
            assert choice is not None
            if choice.permit is not None:
                self.evidence.pair_replica_stats(choice.url, EN_DE).breaker.release(choice.permit)
            found.add(choice.url)
        return found

    @property
    def suspects(self) -> list[str]:
        return [url for url, _, _ in find_suspects(self.evidence, self.fleet)]


@pytest.mark.parametrize("error", [ValueError(), asyncio.CancelledError(), KeyboardInterrupt()])
def test_in_flight_is_freed_whatever_happens(error: BaseException) -> None:
    scene = Scene()

    def fail() -> None:
        with scene.attempt(texts=3), scene.attempt(texts=2):
            assert scene.evidence.load(A, scene.fleet) == 5
            raise error

    with pytest.raises(type(error)):
        fail()
    assert scene.evidence.load(A, scene.fleet) == 0
    assert scene.evidence.replica_stats(A).work == 0
    assert scene.suspects == [], "who leaves says nothing about the replica"


def test_load_counts_ours_and_what_the_report_shows_of_others_but_nothing_twice() -> None:
    scene = Scene(snapshot())
    with scene.attempt(texts=2):
        fleet = snapshot(replica(A, "en>de", in_flight=7), replica(B, "en>de"))
        scene.evidence.apply_snapshot(fleet)
        assert scene.evidence.load(A, fleet) == 7
        assert scene.evidence.load(B, fleet) == 0
        with scene.attempt(texts=1):
            assert scene.evidence.load(A, fleet) == 8
    assert scene.evidence.load(A, fleet) == 5, "ours are done, the others' remain until the next report"
    scene.evidence.apply_snapshot(fleet)
    assert scene.evidence.load(A, fleet) == 5, "the same report again changes nothing"


def test_a_request_that_ended_while_the_report_was_on_its_way_is_no_load_of_others() -> None:
    scene = Scene()
    scene.now += 10
    with scene.attempt(texts=3):
        scene.now += 0.02
    late = snapshot(replica(A, "en>de", in_flight=3, now=200.0), replica(B, "en>de", now=200.0))
    scene.evidence.apply_snapshot(late)
    assert scene.evidence.load(A, late) == 0
    scene.now += 1
    later = snapshot(replica(A, "en>de", in_flight=3, now=201.0), replica(B, "en>de", now=201.0))
    scene.evidence.apply_snapshot(later)
    assert scene.evidence.load(A, later) == 3


def test_load_is_never_less_than_ours() -> None:
    scene = Scene(snapshot())
    with scene.attempt(texts=4):
        fleet = snapshot(replica(A, "en>de", in_flight=1))
        scene.evidence.apply_snapshot(fleet)
        assert scene.evidence.load(A, fleet) == 4


def test_who_waits_is_told_that_its_replica_is_down_and_nobody_else() -> None:
    scene = Scene()
    told: list[str] = []
    with scene.attempt(A, lost=told), scene.attempt(B, lost=told), scene.attempt("http://left", lost=told):
        down = replica(A, "en>de").silent("refused", 2.0, max_misses=1)
        scene.evidence.apply_snapshot(snapshot(down, replica(B, "en>de")))
        assert told == [A]
    scene.evidence.apply_snapshot(snapshot(down))
    assert told == [A], "who has gone is told nothing"


def test_three_failures_in_a_row_take_a_replica_out_and_a_canary_brings_it_back() -> None:
    scene = Scene()
    for _ in range(3):
        scene.ends(A, AttemptOutcome.FAILED)
    assert scene.chosen() == {B}
    assert scene.suspects == [A]
    scene.evidence.canary_passed(A, EN_DE, 0, 0.02)
    choice = scene.chooser.select(EN_DE, (), RequestCost(1.0), scene.fleet)
    assert choice is not None
    assert choice.url == A, "the trial"
    assert scene.chooser.select(EN_DE, (), RequestCost(1.0), scene.fleet) != choice, "one at a time"
    with scene.evidence.begin_attempt(choice, RequestCost(1.0), lambda: None) as attempt:
        scene.now += 0.02
        attempt.record_outcome(AttemptOutcome.GOOD)
    scene.ends(B, AttemptOutcome.GOOD)
    scene.now += 5
    assert scene.chosen() == {A, B}
    scene.evidence.canary_passed(A, EN_DE, 0, 0.02)
    assert scene.suspects == []


def test_a_trial_that_is_not_sent_after_all_is_another_requests() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.FAILED, unreachable=True)
    scene.now += 2
    first = scene.chooser.select(EN_DE, (), RequestCost(1.0), scene.fleet)
    assert first is not None
    assert first.url == A
    scene.chooser.release(first)
    scene.now += 0.1
    second = scene.chooser.select(EN_DE, (), RequestCost(1.0), scene.fleet)
    assert second is not None
    assert second.url == A


def test_a_replica_that_only_waits_for_its_trial_is_neither_failing_nor_asked_again_and_again() -> None:
    scene = Scene()
    for _ in range(3):
        scene.ends(A, AttemptOutcome.FAILED)
    assert failing_replicas(scene.evidence, EN_DE, scene.fleet) == [A]
    scene.evidence.canary_passed(A, EN_DE, 0, 0.02)
    scene.now += 60
    assert failing_replicas(scene.evidence, EN_DE, scene.fleet) == []
    assert scene.suspects == []
    assert scene.chooser.select(EN_DE, (), RequestCost(1.0), scene.fleet) is not None
    scene.ends(A, AttemptOutcome.FAILED)
    scene.evidence.canary_failed(A, EN_DE)
    assert failing_replicas(scene.evidence, EN_DE, scene.fleet) == [A]
    assert scene.suspects == [A]


def test_one_failure_is_enough_to_prefer_another_until_a_canary_passes() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.GOOD)
    scene.ends(B, AttemptOutcome.GOOD)
    scene.ends(A, AttemptOutcome.FAILED)
    assert scene.chosen() == {B}
    assert scene.suspects == [A]
    scene.evidence.canary_passed(A, EN_DE, 0, 0.02)
    assert scene.chosen() == {A, B}


def test_a_refused_connection_takes_a_replica_out_at_once() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.FAILED, unreachable=True)
    assert scene.chosen() == {B}


def test_at_most_half_of_a_pairs_replicas_are_kept_out_by_breakers() -> None:
    scene = Scene()
    for url in (A, B):
        scene.ends(url, AttemptOutcome.FAILED, unreachable=True)
    assert scene.chosen() == {B}, "the first to fail is out, the other has to do"
    only = Scene(snapshot(replica(A, "en>de")))
    only.ends(A, AttemptOutcome.FAILED, unreachable=True)
    assert only.chosen() == {A}


def test_those_that_refuse_the_pair_are_out_all_of_them_and_do_not_count_for_that_half() -> None:
    scene = Scene(snapshot(*(replica(url, "en>de") for url in (A, B, "c", "d"))))
    for url in (A, B):
        scene.ends(url, AttemptOutcome.REFUSED)
    scene.ends("c", AttemptOutcome.FAILED, unreachable=True)
    assert scene.chosen() == {"d"}
    scene.ends("d", AttemptOutcome.REFUSED)
    assert scene.chosen() == {"c"}
    scene.ends("c", AttemptOutcome.REFUSED)
    assert scene.chooser.select(EN_DE, (), RequestCost(1.0), scene.fleet) is None
    scene.now += 2
    assert scene.chooser.select(EN_DE, (), RequestCost(1.0), scene.fleet) is not None, (
        "a trial, when the back-off is over"
    )


def test_a_full_replica_is_left_alone_for_as_long_as_it_asks_unless_all_are_full() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.FULL)
    assert scene.chosen() == {B}
    scene.ends(B, AttemptOutcome.FULL)
    assert scene.chosen() == {A, B}
    scene.now += 2.1
    scene.ends(A, AttemptOutcome.FULL)
    assert scene.chosen() == {B}
    assert scene.suspects == []


def test_a_replica_at_its_reported_limit_is_passed_over() -> None:
    full, free = models(ahead=10, limit=10), models(ahead=9, limit=10)
    scene = Scene(snapshot(replica(A, "en>de", models=full), replica(B, "en>de", models=free)))
    assert scene.chosen() == {B}


def test_what_was_sent_since_the_report_fills_a_replica_too_until_the_next_report() -> None:
    some = models(ahead=9, limit=10)
    scene = Scene(snapshot(replica(A, "en>de", models=some), replica(B, "en>de", models=models(ahead=0, limit=10))))
    with scene.attempt(A, texts=2):
        assert scene.chosen() == {B}
    assert scene.chosen() == {A, B}


def test_a_replica_that_is_full_for_bulk_takes_what_is_more_urgent() -> None:
    scene = Scene()
    bulk, urgent = RequestCost(1.0, priority=Priority.BULK), RequestCost(1.0)
    permit = scene.evidence.pair_replica_stats(A, EN_DE).breaker.acquire()
    with scene.evidence.begin_attempt(Selection(A, EN_DE, 0, permit, "m"), bulk, lambda: None) as attempt:
        attempt.record_outcome(AttemptOutcome.FULL, full_for=60.0)
    assert scene.chosen(freight=bulk) == {B}
    assert scene.chosen(freight=urgent) == {A, B}
    scene.now += LONGEST_BACK_PRESSURE_SECONDS
    assert scene.chosen(freight=bulk) == {A, B}, "what clients are told to wait is not how long it stays full"


def test_the_preferred_model_serves_alone_until_it_is_out() -> None:
    scene = Scene(snapshot(replica(A, "en>de", rank=1), replica(B, "en>de")))
    assert scene.chosen() == {B}
    scene.ends(B, AttemptOutcome.FAILED, unreachable=True)
    assert scene.chosen() == {A}


def test_a_replica_that_stands_still_while_others_answer_gets_nothing_new_and_loses_what_it_holds() -> None:
    scene = Scene()
    told: list[str] = []
    with scene.attempt(A, lost=told) as attempt:
        scene.now += STALL_SECONDS + 0.1
        detect_stalls(scene.evidence)
        assert told == [], "nobody answers: it may be the fleet that is slow"
        scene.ends(B, AttemptOutcome.GOOD)
        detect_stalls(scene.evidence)
        assert (told, scene.suspects) == ([A], [A])
        assert scene.chosen() == {B}
        attempt.stats.record_progress()
        scene.ends(B, AttemptOutcome.GOOD)
        detect_stalls(scene.evidence)
        assert told == [A], "a part of an answer is progress"


def test_a_long_text_may_take_its_time() -> None:
    scene = Scene()
    for _ in range(30):
        scene.ends(B, AttemptOutcome.GOOD)
    told: list[str] = []
    long = scene.evidence.begin_attempt(
        Selection(A, EN_DE, 0, None, "m"), RequestCost(work_of(100_000)), lambda: told.append(A)
    )
    with long:
        scene.now += 20
        scene.ends(B, AttemptOutcome.GOOD)
        detect_stalls(scene.evidence)
        assert told == []


def test_time_that_was_too_short_for_anybody_is_no_failure() -> None:
    scene = Scene()
    for seconds, doubted in ((0.05, []), (5.0, [A])):
        with scene.attempt(A) as attempt:
            scene.now += seconds
            attempt.record_timeout()
        assert scene.suspects == doubted


def test_a_slow_replica_is_avoided_and_gets_canaries() -> None:
    scene = Scene()
    for _ in range(30):
        scene.ends(B, AttemptOutcome.GOOD)
    scene.ends(A, AttemptOutcome.GOOD, seconds=1.5)
    assert scene.chosen() == {B}
    assert scene.suspects == [], "its own requests tell how it is"
    scene.now += 0.6
    assert scene.suspects == [A]
    scene.ends(B, AttemptOutcome.GOOD)
    scene.evidence.canary_passed(A, EN_DE, 0, 0.02)
    assert scene.suspects == []
    assert scene.chosen() == {A, B}


def test_three_canaries_that_fail_are_as_bad_as_requests_that_do() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.FAILED)
    for _ in range(2):
        scene.evidence.canary_failed(A, EN_DE)
    assert scene.evidence.pair_replica_stats(A, EN_DE).is_out


def test_another_process_at_the_same_url_starts_afresh() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.FAILED, unreachable=True)
    scene.fleet = snapshot(replica(A, "en>de", replica_id="another"), replica(B, "en>de"))
    scene.evidence.apply_snapshot(scene.fleet)
    scene.now += 60
    assert scene.chosen() == {A, B}
    assert scene.suspects == []


def test_a_pair_that_was_reported_out_starts_afresh() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.REFUSED)
    scene.evidence.apply_snapshot(snapshot(replica(A, starting=("en>de",)), replica(B, "en>de")))
    scene.evidence.apply_snapshot(scene.fleet)
    assert scene.chosen() == {A, B}


def test_nothing_is_kept_of_replicas_and_pairs_that_are_gone() -> None:
    scene = Scene(snapshot())
    for number in range(100):
        url = f"http://{number}"
        scene.evidence.apply_snapshot(snapshot(replica(url, "en>de")))
        scene.ends(url, AttemptOutcome.FAILED)
    scene.evidence.apply_snapshot(snapshot())
    evidence = scene.evidence
    kept = evidence._replicas, dict(evidence._pairs)  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    assert kept == ({}, {})


def test_a_hung_replica_is_found_behind_a_long_text_and_beside_a_pair_that_gets_on() -> None:
    scene = Scene()
    told: list[str] = []
    evidence = scene.evidence
    long = evidence.begin_attempt(Selection(A, EN_DE, 0, None, "m"), RequestCost(work_of(200_000)), lambda: None)
    with long, scene.attempt(A, lost=told):
        scene.now += STALL_SECONDS + 0.5
        with evidence.begin_attempt(Selection(A, pair("en>fr"), 0, None, "m"), RequestCost(1.0), lambda: None) as other:
            other.record_outcome(AttemptOutcome.GOOD)
        scene.ends(B, AttemptOutcome.GOOD)
        detect_stalls(evidence)
        assert told == [A]
        assert scene.chosen() == {B}


def test_an_impatient_client_still_teaches_how_slow_a_replica_is() -> None:
    scene = Scene()
    for _ in range(30):
        scene.ends(B, AttemptOutcome.GOOD)
    scene.ends(A, AttemptOutcome.NONE, seconds=0.5)
    assert scene.chosen() == {B}


def test_refusing_a_bad_request_quickly_is_no_sign_of_speed() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.ANSWERED, seconds=0.0001)
    assert scene.evidence.pair_replica_stats(A, EN_DE).latency.value is None
    assert scene.suspects == []


def test_an_answer_from_before_does_not_make_a_full_replica_free_again() -> None:
    scene = Scene()
    with scene.attempt(A) as old:
        scene.now += 0.01
        scene.ends(A, AttemptOutcome.FULL)
        old.record_outcome(AttemptOutcome.GOOD)
    assert scene.chosen() == {B}


def test_doubt_ends_with_a_good_answer_where_nobody_sends_canaries() -> None:
    scene = Scene()
    scene.ends(A, AttemptOutcome.FAILED)
    assert scene.suspects == [A]
    scene.ends(A, AttemptOutcome.GOOD)
    assert scene.suspects == []


def test_what_another_process_left_behind_says_nothing_of_the_new_one() -> None:
    scene = Scene()
    told: list[str] = []
    with scene.attempt(A, lost=told) as old:
        fleet = snapshot(replica(A, "en>de", replica_id="another"), replica(B, "en>de"))
        scene.evidence.apply_snapshot(fleet)
        assert told == [A]
        old.record_outcome(AttemptOutcome.FAILED)
    assert scene.suspects == []
    assert scene.evidence.load(A, fleet) == 0
