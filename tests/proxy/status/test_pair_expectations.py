"""Expected replicas of pairs, from those of services."""

from __future__ import annotations

from proxy.fleet.expected_replicas import PairExpectations, ServiceReplicas
from tests.proxy.samples import pair, replica, snapshot

A, B, C = "http://10.0.0.1:1", "http://10.0.0.2:1", "http://10.0.0.3:1"
DE, FR = pair("en>de"), pair("en>fr")
SERVICES = {A: "de", B: "de", C: None}


def service(expected: int | None) -> list[ServiceReplicas]:
    return [ServiceReplicas("de", 0, expected)]


def test_addresses_are_expected_as_they_are() -> None:
    expectations = PairExpectations(SERVICES.get)
    fleet = snapshot(replica(C, "en>fr").silent("refused", 1.0, max_misses=1), remembered=("en>de",))
    assert expectations.expected(fleet, service(3)) == {DE: 0, FR: 1}


def test_service_without_a_number_has_none_for_its_pairs() -> None:
    expectations = PairExpectations(SERVICES.get)
    fleet = snapshot(replica(A, "en>de"), replica(B, "en>de"), replica(C, "en>de", "en>fr"))
    assert expectations.expected(fleet, service(None)) == {DE: None, FR: 1}


def test_service_without_a_number_counts_as_it_is_beside_others() -> None:
    expectations = PairExpectations({A: "de", B: "fr"}.get)
    fleet = snapshot(replica(A, "en>de"), replica(B, "en>de"))
    services = [ServiceReplicas("de", 1, 2), ServiceReplicas("fr", 1, None)]
    assert expectations.expected(fleet, services) == {DE: 3}


def test_service_without_replicas_keeps_its_pairs() -> None:
    expectations = PairExpectations(SERVICES.get)
    whole = snapshot(replica(A, "en>de"), replica(B, "en>de"), replica(C, "en>de", "en>fr"))
    assert expectations.expected(whole, service(3)) == {DE: 4, FR: 1}
    left = snapshot(replica(C, "en>de", "en>fr"), remembered=("en>de",))
    assert expectations.expected(left, service(3)) == {DE: 4, FR: 1}
    assert expectations.expected(left, service(0)) == {DE: 1, FR: 1}
    assert expectations.expected(snapshot(), service(3)) == {}
