"""Expected replicas: what operators state, and that all proxies agree."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.fleet.expected_replicas import Expectation, ExpectedReplicas
from proxy.fleet.replica import Replica
from shared.protocol.errors import InvalidRequestError
from tests.proxy.samples import replica
from tests.support.clock import HandClock

DE, FR = "http://de:1", "http://fr:1"
CONFIGURED = [DE, FR, "http://10.0.0.1:1", "http://[::1]:1", "http://de:2", "https://tls.example"]


def numbers(expected: ExpectedReplicas) -> dict[str, int | None]:
    return {each: expected.number(each) for each in expected.services}


def test_services_are_the_host_names_each_once() -> None:
    expected = ExpectedReplicas(CONFIGURED, HandClock(1_800_000_000.0))
    assert expected.services == ("de", "fr", "tls.example")
    assert [(each.service, each.expected, each.why) for each in expected.compare({})] == [
        ("de", None, "no number stated"),
        ("fr", None, "no number stated"),
        ("tls.example", None, "no number stated"),
    ]


def test_missing_replicas_of_a_stated_number_have_a_command() -> None:
    expected = ExpectedReplicas(CONFIGURED, HandClock(1_800_000_000.0))
    expected.state({"de": 3})
    [de, *_] = expected.compare({"de": 2})
    assert (de.ready, de.expected, de.is_short) == (2, 3, True)
    assert de.why == "2 of 3 expected replicas are ready; if that is intended: python -m proxy fleet expect de=2"
    [de, *_] = expected.compare({"de": 4})
    assert (de.is_short, de.why) == (False, None)


def test_number_is_taken_back() -> None:
    clock = HandClock(1_800_000_000.0)
    expected = ExpectedReplicas(CONFIGURED, clock)
    expected.state({"de": 1})
    assert numbers(expected)["de"] == 1
    expected.state({"de": None})
    assert numbers(expected)["de"] is None
    other = ExpectedReplicas(CONFIGURED, clock)
    other.merge([Expectation(service="de", count=1, at=clock.now, learnt=False)])
    other.merge(expected.all())
    assert numbers(other)["de"] is None, "whoever took it back did so later"


def test_learnt_records_of_earlier_versions_state_nothing() -> None:
    expected = ExpectedReplicas(CONFIGURED, HandClock(1_800_000_000.0))
    expected.merge([Expectation(service="de", count=9), Expectation(service="fr", count=2, at=5.0, learnt=True)])
    assert numbers(expected) == {"de": None, "fr": None, "tls.example": None}
    expected.state({"de": 1})
    expected.merge([Expectation(service="de", count=9)])
    assert numbers(expected)["de"] == 1


def test_later_command_wins_though_the_clock_was_set_back() -> None:
    clock = HandClock(1_800_000_000.0)
    one, two = ExpectedReplicas(CONFIGURED, clock), ExpectedReplicas(CONFIGURED, clock)
    two.merge(one.state({"de": 5}))
    clock.now -= 3600
    two.merge(one.state({"de": 2}))
    assert numbers(two)["de"] == 2
    assert not two.merge([Expectation(service="de", count=9)]), "what an earlier version learnt before"


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
    expected = ExpectedReplicas(CONFIGURED, HandClock(1_800_000_000.0))
    with pytest.raises(InvalidRequestError) as caught:
        expected.state(wrong)
    assert message in caught.value.detail
    assert expected.all() == []
    with pytest.raises(InvalidRequestError, match="none, it has only addresses"):
        ExpectedReplicas(["http://10.0.0.1:1"], HandClock(1_800_000_000.0)).state({"de": 1})


def test_ready_counts_each_address_of_a_service_once() -> None:
    expected = ExpectedReplicas(CONFIGURED, HandClock(1_800_000_000.0))
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
    expected = ExpectedReplicas([DE, FR], HandClock(1_800_000_000.0))
    assert not expected.is_retired(FR), "nothing is known of it"
    assert not expected.explains({"de": 1})
    expected.state({"fr": None})
    assert not expected.is_retired(FR)
    expected.state({"fr": 0})
    assert expected.is_retired(FR)
    assert not expected.is_retired("http://10.0.0.1:1")
    assert expected.explains({"de": 1})
    assert not expected.explains({"de": 0}), "its pairs are missing too"
    expected.state({"de": 2})
    assert not expected.explains({"de": 1})


EXPECTATIONS = st.lists(
    st.builds(
        Expectation,
        service=st.sampled_from(["de", "fr", "unknown"]),
        count=st.integers(0, 3),
        at=st.floats(0, 100),
        learnt=st.booleans(),
    ),
    max_size=8,
    unique_by=lambda each: each.at,
)


@given(EXPECTATIONS, st.randoms())
def test_merge_result_is_independent_of_order(expectations: list[Expectation], rng: Random) -> None:
    one, two = (
        ExpectedReplicas(CONFIGURED, HandClock(1_800_000_000.0)),
        ExpectedReplicas(CONFIGURED, HandClock(1_800_000_000.0)),
    )
    one.merge(expectations)
    two.merge(rng.sample(expectations, len(expectations)))
    assert {each.service: each for each in one.all()} == {each.service: each for each in two.all()}
    assert one.get("unknown") is None
    assert one.missing_in(two.all()) == []
    assert one.missing_in([]) == one.all()
