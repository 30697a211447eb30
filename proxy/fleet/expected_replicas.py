"""Expected replicas of services, stated by operators, and of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from typing_extensions import override

from proxy.fleet.discovery import MAX_ADDRESSES, is_address
from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.storage.latest_copy import LatestCopy
from shared.languages import LanguagePair
from shared.protocol.errors import InvalidRequestError

NOT_STATED: Final = "no number stated"

ReplicaCount = Annotated[int, Field(ge=0, le=MAX_ADDRESSES, strict=True)]


class Expectation(BaseModel):
    """Replicas expected of one service; the record in Redis.

    ``at``: Unix time of the command; the latest wins. ``learnt``: no number is stated, as it was taken back or an
    earlier version only counted.
    """

    model_config = ConfigDict(frozen=True)

    service: str
    count: ReplicaCount
    at: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    learnt: bool = True


@dataclass(frozen=True, slots=True)
class ServiceReplicas:
    """Ready and expected replicas of one service; None: no number is stated."""

    service: str
    ready: int
    expected: int | None

    @property
    def is_short(self) -> bool:
        """Whether the service has too few replicas."""
        return self.ready < (self.expected or 0)

    @property
    def why(self) -> str | None:
        """Why its state is not as stated; None if it is."""
        if self.expected is None:
            return NOT_STATED
        if not self.is_short:
            return None
        command = f"python -m proxy fleet expect {self.service}={self.ready}"
        return f"{self.ready} of {self.expected} expected replicas are ready; if that is intended: {command}"


class ExpectedReplicas(LatestCopy[Expectation]):
    """Expectations of services, the ``configured`` host names; ``clock``: Unix seconds."""

    def __init__(self, configured: Sequence[str], clock: Callable[[], float]) -> None:
        super().__init__(lambda each: each.service, clock)
        hosts = ((url, urlsplit(url).hostname or "") for url in configured)
        self._service_by_url = {url: host for url, host in hosts if not is_address(host)}
        self.services = tuple(dict.fromkeys(self._service_by_url.values()))

    def number(self, service: str) -> int | None:
        """Return a service's stated number, None without one."""
        expectation = self.get(service)
        return None if expectation is None or expectation.learnt else expectation.count

    @override
    def _kept(self, records: list[Expectation]) -> list[Expectation]:
        return [each for each in records if each.service in self.services]

    def is_retired(self, url: str) -> bool:
        """Return whether operators expect no replica of this configured URL."""
        return self.number(self._service_by_url.get(url, "")) == 0

    def service_of(self, names: Iterable[str]) -> str | None:
        """Return the service of a replica with these configured URLs."""
        return next((self._service_by_url[name] for name in names if name in self._service_by_url), None)

    def check(self, services: Iterable[str]) -> None:
        """Raise InvalidRequestError unless there are services, all known."""
        named = list(services)
        known = f"the services of PROXY_REPLICAS are: {', '.join(self.services) or 'none, it has only addresses'}"
        errors = [(name[:64], f"is not a service; {known}") for name in named if name not in self.services]
        if errors or not named:
            raise InvalidRequestError(errors or [("body", f"names no service; {known}")])

    def state(self, counts: Mapping[str, int | None]) -> list[Expectation]:
        """State services' numbers; None takes one back. Raise as ``check`` does."""
        self.check(counts)
        for service, count in counts.items():
            at = self.next_at(service)
            self.put(Expectation(service=service, count=count or 0, at=at, learnt=count is None))
        return [each for each in self.all() if each.service in counts]

    def ready(self, addresses: Mapping[str, Iterable[str]], replicas: Mapping[str, Replica]) -> dict[str, int]:
        """Count each service's ready replicas; ``addresses`` by configured URL."""
        urls: dict[str, set[str]] = {service: set() for service in self.services}
        for url, service in self._service_by_url.items():
            urls[service].update(addresses.get(url, ()))
        return {
            service: sum(each in replicas and replicas[each].state is ReplicaState.READY for each in found)
            for service, found in urls.items()
        }

    def compare(self, ready: Mapping[str, int]) -> list[ServiceReplicas]:
        """Return each service's ready and expected replicas."""
        return [ServiceReplicas(each, ready.get(each, 0), self.number(each)) for each in self.services]

    def explains(self, ready: Mapping[str, int]) -> bool:
        """Return whether operators retired a service, and no other lacks replicas."""
        retired = {service for url, service in self._service_by_url.items() if self.is_retired(url)}
        return bool(retired) and all(
            ready.get(service, 0) >= max(1, self.number(service) or 0)
            for service in self.services
            if service not in retired
        )


class PairExpectations:
    """Expected replicas of pairs, by services, also those whose replicas are gone."""

    def __init__(self, service_of: Callable[[str], str | None]) -> None:
        self._service_of = service_of
        self._ready: object = None
        self._present: dict[LanguagePair, dict[str | None, int]] = {}

    def expected(self, snapshot: Snapshot, services: Iterable[ServiceReplicas]) -> Mapping[LanguagePair, int | None]:
        """Return the expected replicas of every known pair.

        None: no service of it has a stated number. Otherwise those that its services should have, and each other
        replica that has it.
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
