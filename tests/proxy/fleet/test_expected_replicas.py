"""Expected replicas: what is learnt, what operators set, and that all proxies agree."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.fleet.expected_replicas import LEARN_SECONDS, MAX_GAP_SECONDS, Expectation, ExpectedReplicas
from proxy.fleet.replica import Replica
from shared.protocol.errors import InvalidRequestError
from tests.proxy.samples import replica

DE, FR = "http://de:1", "http://fr:1"
CONFIGURED = [DE, FR, "http://10.0.0.1:1", "http://[::1]:1", "http://de:2", "https://tls.example"]
STEP = MAX_GAP_SECONDS / 2


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def observe(expected: ExpectedReplicas, clock: Clock, seconds: float, **ready: int) -> None:
    """See these ready for so long."""
    for _ in range(int(seconds / STEP) + 1):
        expected.observe(ready)
        clock.now += STEP


def counts(expected: ExpectedReplicas) -> dict[str, int]:
    return {each.service: each.count for each in expected.all()}


def test_services_are_the_host_names_each_once() -> None:
    expected = ExpectedReplicas(CONFIGURED, Clock())
    assert expected.services == ("de", "fr", "tls.example")
    assert [(each.service, each.expected, each.why) for each in expected.compare({})] == [
        ("de", 0, None),
        ("fr", 0, None),
        ("tls.example", 0, None),
    ]


def test_number_is_learnt_after_it_lasted() -> None:
    clock = Clock()
    expected = ExpectedReplicas(CONFIGURED, clock)
    observe(expected, clock, LEARN_SECONDS - STEP, de=3)
    assert counts(expected) == {}, "a new fleet is not degraded"
    observe(expected, clock, STEP, de=3)
    assert counts(expected) == {"de": 3}
    observe(expected, clock, 2 * LEARN_SECONDS, de=2)
    [de, *_] = expected.compare({"de": 2})
    assert (de.ready, de.expected, de.learnt) == (2, 3, True)
    assert de.why == "2 of 3 expected replicas are ready; if that is intended: python -m proxy.fleet expect de=2"


def test_surge_of_a_roll_is_not_learnt() -> None:
    clock = Clock()
    expected = ExpectedReplicas(CONFIGURED, clock)
    observe(expected, clock, LEARN_SECONDS, de=3)
    for _ in range(20):
        observe(expected, clock, LEARN_SECONDS / 2, de=4)
        observe(expected, clock, 0, de=3)
    assert counts(expected) == {"de": 3}


def test_least_number_of_the_time_is_learnt() -> None:
    clock = Clock()
    expected = ExpectedReplicas(CONFIGURED, clock)
    observe(expected, clock, LEARN_SECONDS / 2, de=5)
    observe(expected, clock, LEARN_SECONDS, de=4)
    assert counts(expected) == {"de": 4}


@pytest.mark.parametrize("jump", [MAX_GAP_SECONDS + 1, LEARN_SECONDS, -3600.0])
def test_paused_proxy_or_set_clock_learns_nothing(jump: float) -> None:
    clock = Clock()
    expected = ExpectedReplicas(CONFIGURED, clock)
    expected.observe({"de": 2})
    clock.now += jump
    expected.observe({"de": 2})
    assert counts(expected) == {}


def test_operators_number_wins_until_it_is_learnt_again() -> None:
    clock = Clock()
    expected = ExpectedReplicas(CONFIGURED, clock)
    expected.set({"de": 1})
    observe(expected, clock, LEARN_SECONDS, de=3)
    assert [(each.count, each.learnt) for each in expected.all()] == [(1, False)]
    expected.set({"de": None})
    assert [(each.count, each.learnt) for each in expected.all()] == [(0, True)]
    observe(expected, clock, LEARN_SECONDS, de=3)
    assert [(each.count, each.learnt) for each in expected.all()] == [(3, True)]


def test_later_command_wins_though_the_clock_was_set_back() -> None:
    clock = Clock()
    one, two = ExpectedReplicas(CONFIGURED, clock), ExpectedReplicas(CONFIGURED, clock)
    two.merge(one.set({"de": 5}))
    clock.now -= 3600
    two.merge(one.set({"de": 2}))
    assert counts(two) == {"de": 2}
    assert not two.merge([Expectation(service="de", count=9)]), "what another proxy learnt before"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "body: names no service; the services of PROXY_REPLICAS are: de, fr, tls.example."),
        ({"ed": 1}, "ed: is not a service; the services of PROXY_REPLICAS are: de, fr, tls.example."),
        ({"10.0.0.1": 1}, "10.0.0.1: is not a service"),
        ({"de": 1, "http://de:1": 2}, "http://de:1: is not a service"),
    ],
)
def test_unknown_service_is_refused_and_nothing_changes(wrong: dict[str, int], message: str) -> None:
    expected = ExpectedReplicas(CONFIGURED, Clock())
    with pytest.raises(InvalidRequestError) as caught:
        expected.set(wrong)
    assert message in caught.value.detail
    assert expected.all() == []
    with pytest.raises(InvalidRequestError, match="none, it has only addresses"):
        ExpectedReplicas(["http://10.0.0.1:1"], Clock()).set({"de": 1})


def test_ready_counts_each_address_of_a_service_once() -> None:
    expected = ExpectedReplicas(CONFIGURED, Clock())
    one, two, three = "http://10.0.0.2:1", "http://10.0.0.3:1", "http://10.0.0.4:1"
    replicas = {
        one: replica(one, "en>de"),
        two: replica(two, "en>de"),
        three: Replica.unseen(three, 1.0),
        "http://10.0.0.1:1": replica("http://10.0.0.1:1", "en>de"),
    }
    addresses = {DE: (one, two, three), "http://de:2": (one, "http://gone:1"), FR: ()}
    assert expected.ready(addresses, replicas) == {"de": 2, "fr": 0, "tls.example": 0}


def test_retired_service_explains_lost_pairs_of_a_whole_fleet() -> None:
    expected = ExpectedReplicas([DE, FR], Clock())
    assert not expected.is_retired(FR), "nothing is known of it"
    assert not expected.explains({"de": 1})
    expected.set({"fr": None})
    assert not expected.is_retired(FR)
    expected.set({"fr": 0})
    assert expected.is_retired(FR)
    assert not expected.is_retired("http://10.0.0.1:1")
    assert expected.explains({"de": 1})
    assert not expected.explains({"de": 0}), "its pairs are missing too"
    expected.set({"de": 2})
    assert not expected.explains({"de": 1})


EXPECTATIONS = st.lists(
    st.builds(
        Expectation,
        service=st.sampled_from(["de", "fr", "unknown"]),
        count=st.integers(0, 3),
        at=st.sampled_from([0.0, 1.0, 2.0]),
        learnt=st.just(value=True),
    ),
    max_size=8,
)


@given(EXPECTATIONS, st.randoms())
def test_merge_result_is_independent_of_order(expectations: list[Expectation], rng: Random) -> None:
    one, two = ExpectedReplicas(CONFIGURED, Clock()), ExpectedReplicas(CONFIGURED, Clock())
    one.merge(expectations)
    two.merge(rng.sample(expectations, len(expectations)))
    assert {each.service: each for each in one.all()} == {each.service: each for each in two.all()}
    assert "unknown" not in counts(one)
    assert one.newer_than(two.all()) == []
    assert one.newer_than([]) == one.all()
