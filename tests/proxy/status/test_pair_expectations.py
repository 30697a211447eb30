"""Expected replicas of pairs, from those of services."""

from __future__ import annotations

from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.status.pair_expectations import PairExpectations
from tests.proxy.samples import pair, replica, snapshot

A, B, C = "http://10.0.0.1:1", "http://10.0.0.2:1", "http://10.0.0.3:1"
DE, FR = pair("en>de"), pair("en>fr")
SERVICES = {A: "de", B: "de", C: None}


def service(expected: int, *, learnt: bool = True) -> list[ServiceReplicas]:
    return [ServiceReplicas("de", 0, expected, learnt)]


def test_addresses_are_expected_as_they_are() -> None:
    expectations = PairExpectations(SERVICES.get)
    fleet = snapshot(replica(C, "en>fr").silent("refused", 1.0, max_misses=1), remembered=("en>de",))
    assert expectations.expected(fleet, service(3)) == {DE: 0, FR: 1}


def test_service_that_learnt_nothing_expects_its_replicas() -> None:
    expectations = PairExpectations(SERVICES.get)
    assert expectations.expected(snapshot(replica(A, "en>de"), replica(B, "en>de")), service(0)) == {DE: 2}


def test_service_without_replicas_keeps_its_pairs() -> None:
    expectations = PairExpectations(SERVICES.get)
    whole = snapshot(replica(A, "en>de"), replica(B, "en>de"), replica(C, "en>de", "en>fr"))
    assert expectations.expected(whole, service(3)) == {DE: 4, FR: 1}
    left = snapshot(replica(C, "en>de", "en>fr"), remembered=("en>de",))
    assert expectations.expected(left, service(3)) == {DE: 4, FR: 1}
    assert expectations.expected(left, service(0, learnt=False)) == {DE: 1, FR: 1}
    assert expectations.expected(snapshot(), service(3)) == {}
