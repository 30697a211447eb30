"""Picking one replica."""

# ruff: noqa: S311 - picks, not secrets

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.balancing.balancer import (
    CHOICES,
    DRAWS,
    MAX_EVALUATED,
    NEAR,
    NEAR_SECONDS,
    SLOW_START_SECONDS,
    WARM_FLOOR,
    EligibleReplica,
    pick,
    score,
    warmth,
)

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
