"""PairExpectations: how many replicas each pair should have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair


class PairExpectations:
    """Expected replicas of pairs, by the services that serve them.

    A service is remembered after its replicas are gone. ``service_of`` returns a replica's service, or None.
    """

    def __init__(self, service_of: Callable[[str], str | None]) -> None:
        self._service_of = service_of
        self._ready: object = None
        self._present: dict[LanguagePair, dict[str | None, int]] = {}

    def expected(self, snapshot: Snapshot, services: Iterable[ServiceReplicas]) -> Mapping[LanguagePair, int]:
        """Return the expected replicas of every known pair.

        These are the replicas that its services should have, and each replica outside services that has it.
        """
        if snapshot.ready is not self._ready:
            self._ready = snapshot.ready
            self._observe(snapshot)
        by_name = {each.service: each for each in services}
        return {
            pair: sum(_count(by_name.get(service or ""), count) for service, count in present.items())
            for pair, present in self._present.items()
        }

    def _observe(self, snapshot: Snapshot) -> None:
        before = self._present
        # A service whose replicas are gone still serves its pairs, by 0 replicas.
        self._present = {pair: dict.fromkeys(before.get(pair, {}).keys() - {None}, 0) for pair in snapshot.ready}
        for url, replica in snapshot.replicas.items():
            service = self._service_of(url)
            for pair in replica.report.pairs.by_pair if replica.report is not None else ():
                present = self._present[pair]
                present[service] = present.get(service, 0) + 1


def _count(service: ServiceReplicas | None, present: int) -> int:
    """Return a service's expected replicas; those present if nothing is expected yet."""
    if service is None or (service.learnt and not service.expected):
        return present
    return service.expected
