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

    def expected(self, snapshot: Snapshot, services: Iterable[ServiceReplicas]) -> Mapping[LanguagePair, int | None]:
        """Return the expected replicas of every known pair.

        None: no service of it has a stated number. Otherwise these are the replicas that its services should have, and each other replica that has it.
        """
        if snapshot.ready is not self._ready:
            self._ready = snapshot.ready
            self._observe(snapshot)
        stated: dict[str | None, int] = {each.service: each.expected for each in services if each.expected is not None}
        return {pair: _expected(present, stated) for pair, present in self._present.items()}

    def _observe(self, snapshot: Snapshot) -> None:
        before = self._present
        # A service whose replicas are gone still serves its pairs, by 0 replicas.
        self._present = {pair: dict.fromkeys(before.get(pair, {}).keys() - {None}, 0) for pair in snapshot.ready}
        for url, replica in snapshot.replicas.items():
            service = self._service_of(url)
            for pair in replica.report.pairs.by_pair if replica.report is not None else ():
                present = self._present[pair]
                present[service] = present.get(service, 0) + 1


def _expected(present: Mapping[str | None, int], stated: Mapping[str | None, int]) -> int | None:
    """Return a pair's expected replicas; None without a stated number."""
    services = present.keys() - {None}
    if services and services.isdisjoint(stated):
        return None
    return sum(stated.get(service, count) for service, count in present.items())
