"""ReplicaSelector: which replica gets a request, by breakers, capacity, latency and model; the best of a few."""

# ruff: noqa: S311 - picks, not secrets

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.balancing.local_stats import Selection
from proxy.balancing.replica_stats import LONGEST_BACK_PRESSURE_SECONDS, SLOW_START_SECONDS
from proxy.balancing.selector import (
    CHOICES,
    DRAWS,
    MAX_EVALUATED,
    NEAR,
    NEAR_SECONDS,
    WARM_FLOOR,
    EligibleReplica,
    pick,
    score,
    warmth,
)
from proxy.call import RequestCost
from proxy.upstream.response_classifier import AttemptOutcome
from shared.protocol.priority import Priority
from tests.proxy.balancing.local_fleet import EN_DE, A, B, LocalFleet
from tests.proxy.samples import models, replica, snapshot

USUAL = EligibleReplica(latency=0.02, in_flight=0, weight=1, penalty=0)
NUMBERS = st.floats(0, 1e6)
ELIGIBLE = st.builds(EligibleReplica, NUMBERS, NUMBERS, st.floats(0.01, 100), NUMBERS)


def urls(count: int) -> list[str]:
    return [f"http://{number}" for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, CHOICES + 1, 1000])
def test_pick_returns_none_without_eligible_replicas(count: int) -> None:
    assert pick(urls(count), lambda _url: None, 1, Random(1)) is None


@pytest.mark.parametrize("count", [1, 2, CHOICES, CHOICES + 1, MAX_EVALUATED])
def test_pick_finds_the_only_eligible_replica(count: int) -> None:
    for seed in range(20):
        wanted = urls(count)[seed % count]
        assert pick(urls(count), lambda url, own=wanted: USUAL if url == own else None, 1, Random(seed)) == wanted


@given(
    st.dictionaries(st.text(min_size=1), st.none() | ELIGIBLE.map(lambda each: replace(each, weight=1)), max_size=12),
    st.floats(1, 1e4),
    st.integers(),
)
def test_pick_is_eligible_and_not_clearly_worse_than_the_others(
    fleet: dict[str, EligibleReplica | None], work: float, seed: int
) -> None:
    picked = pick(list(fleet), fleet.__getitem__, work, Random(seed))
    scores = {url: score(each, work) for url, each in fleet.items() if each is not None}
    if picked is None:
        assert not scores
        return
    # Each comparison may take the slightly worse for the equal of the better.
    nearly = sorted((1 + NEAR) ** CHOICES * each + CHOICES * 2 * NEAR_SECONDS for each in scores.values())
    assert scores[picked] <= nearly[max(0, len(scores) - CHOICES)]


@pytest.mark.parametrize("count", [2, CHOICES, 10])
def test_pick_spreads_work_among_equals(count: int) -> None:
    rng = Random(7)
    picked = Counter(pick(urls(count), lambda _url: USUAL, 1, rng) for _ in range(count * 1000))
    assert len(picked) == count
    assert all(850 < times < 1150 for times in picked.values())


def test_pick_evaluates_few_when_none_is_eligible() -> None:
    looks: list[str] = []
    assert pick(urls(1000), looks.append, 1, Random(1)) is None
    assert len(looks) <= DRAWS + MAX_EVALUATED


def test_pick_spreads_the_share_of_ineligible_replicas() -> None:
    rng = Random(7)
    out = set(urls(10)[:5])
    picked = Counter(pick(urls(10), lambda url: None if url in out else USUAL, 1, rng) for _ in range(5000))
    assert len(picked) == 5
    assert all(850 < times < 1150 for times in picked.values())


def test_pick_evaluates_few_replicas_of_many() -> None:
    looks = Counter[str]()

    def look(url: str) -> EligibleReplica:
        looks[url] += 1
        return USUAL

    for seed in range(100):
        looks.clear()
        assert pick(urls(1000), look, 1, Random(seed))
        assert sum(looks.values()) == CHOICES <= DRAWS


@pytest.mark.parametrize(
    "worse",
    [
        EligibleReplica(latency=0.03, in_flight=0, weight=1, penalty=0),
        EligibleReplica(latency=0.02, in_flight=1, weight=1, penalty=0),
        EligibleReplica(latency=0.02, in_flight=1, weight=0.5, penalty=0),
        EligibleReplica(latency=0.02, in_flight=0, weight=1, penalty=0.01),
        EligibleReplica(latency=0.0, in_flight=0, weight=1, penalty=1),
    ],
    ids=["slower", "busier", "weaker", "failed lately", "fails at once"],
)
def test_pick_returns_the_better_of_two(worse: EligibleReplica) -> None:
    for seed in range(20):
        assert pick(["good", "bad"], lambda url: worse if url == "bad" else USUAL, 1, Random(seed)) == "good"


def test_pick_ignores_a_few_milliseconds() -> None:
    rng = Random(7)
    fleet = {"a": USUAL, "b": EligibleReplica(latency=0.0239, in_flight=0, weight=1, penalty=0)}
    picked = Counter(pick(list(fleet), fleet.__getitem__, 1, rng) for _ in range(1000))
    assert all(times > 400 for times in picked.values())


@pytest.mark.parametrize(("weight", "share"), [(0.1, 0.09), (0.5, 0.33), (2, 0.67), (5, 0.83)])
def test_pick_shares_an_idle_fleets_work_by_weight(weight: float, share: float) -> None:
    rng = Random(7)
    fleet = {"a": USUAL, "b": EligibleReplica(latency=0.02, in_flight=0, weight=weight, penalty=0)}
    picked = Counter(pick(list(fleet), fleet.__getitem__, 1, rng) for _ in range(10_000))
    assert picked["b"] / 10_000 == pytest.approx(share, abs=0.02)


def test_pick_gives_a_newcomer_its_warmths_share() -> None:
    rng = Random(7)
    cold = EligibleReplica(latency=0.001, in_flight=0, weight=1, penalty=0, warmth=0.2)
    picked = Counter(pick(["old", "new"], {"old": USUAL, "new": cold}.__getitem__, 1, rng) for _ in range(5000))
    assert 850 < picked["new"] < 1150, "a fifth, though it looks better"
    both = Counter(pick(["a", "b"], lambda _: cold, 1, rng) for _ in range(1000))
    assert all(times > 400 for times in both.values()), "among newcomers nobody stands back"


def test_score_divides_work_by_weight() -> None:
    assert score(EligibleReplica(0.02, 3, 2, 0), 1) == score(EligibleReplica(0.02, 1, 1, 0), 1)


def test_warmth_grows_evenly_until_the_end_of_the_slow_start() -> None:
    assert warmth(-1) == warmth(0) == WARM_FLOOR
    assert warmth(SLOW_START_SECONDS / 2) == pytest.approx((1 + WARM_FLOOR) / 2)
    assert warmth(SLOW_START_SECONDS) == warmth(1e9) == 1


@given(st.floats(0, 100), st.floats(0, 100))
def test_warmth_never_falls_with_age(one: float, other: float) -> None:
    assert WARM_FLOOR <= warmth(one) <= 1
    if one <= other:
        assert warmth(one) <= warmth(other)


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
