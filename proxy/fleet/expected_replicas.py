"""Expected replicas of each service: set by operators, or learnt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from proxy.fleet.discovery import MAX_ADDRESSES, is_address
from proxy.fleet.overrides import TICK_SECONDS
from proxy.fleet.replica import Replica, ReplicaState
from shared.protocol.errors import InvalidRequestError

log = logging.getLogger(__name__)

# A roll has new containers beside the old ones for less time than this.
LEARN_SECONDS: Final = 300.0
# A proxy that looked less often, such as a paused one, saw too little to learn from.
MAX_GAP_SECONDS: Final = 60.0

ReplicaCount = Annotated[int, Field(ge=0, le=MAX_ADDRESSES, strict=True)]


class Expectation(BaseModel):
    """Replicas expected of one service; the record in Redis.

    ``at`` is the Unix time of the operator's last command, 0 without any. A later one wins; at one time, the greater
    count: what was learnt only grows.
    """

    model_config = ConfigDict(frozen=True)

    service: str
    count: ReplicaCount
    at: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    learnt: bool = True

    def replaces(self, other: Expectation) -> bool:
        """Return whether it wins over another one of its service."""
        return (self.at, self.count) > (other.at, other.count)


@dataclass(frozen=True, slots=True)
class ServiceReplicas:
    """Ready and expected replicas of one service."""

    service: str
    ready: int
    expected: int
    learnt: bool

    @property
    def why(self) -> str | None:
        """Why the service has too few replicas; None if it has enough."""
        if self.ready >= self.expected:
            return None
        command = f"python -m proxy.fleet expect {self.service}={self.ready}"
        return f"{self.ready} of {self.expected} expected replicas are ready; if that is intended: {command}"


@dataclass(slots=True)
class _Observation:
    """More ready replicas than expected: fewest since ``since``."""

    count: int
    since: float
    last: float


class ExpectedReplicas:
    """Expectations of the services: the host names in ``configured`` URLs.

    ``clock`` returns Unix seconds.
    """

    def __init__(self, configured: Sequence[str], clock: Callable[[], float]) -> None:
        hosts = ((url, urlsplit(url).hostname or "") for url in configured)
        self._service_by_url = {url: host for url, host in hosts if not is_address(host)}
        self._clock = clock
        self._by_service: dict[str, Expectation] = {}
        self._observations: dict[str, _Observation] = {}
        self.services = tuple(dict.fromkeys(self._service_by_url.values()))

    def all(self) -> list[Expectation]:
        """Return expectations that are set or learnt."""
        return list(self._by_service.values())

    def get(self, service: str) -> Expectation:
        """Return a service's expectation; 0 replicas, learnt, if unknown."""
        return self._by_service.get(service) or Expectation(service=service, count=0)

    def is_retired(self, url: str) -> bool:
        """Return whether operators expect no replica of this configured URL."""
        expectation = self._by_service.get(self._service_by_url.get(url, ""))
        return expectation is not None and not expectation.learnt and expectation.count == 0

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

    def set(self, counts: Mapping[str, int | None]) -> list[Expectation]:
        """Set operators' counts; None: learn again. Raise as ``check`` does."""
        self.check(counts)
        now = self._clock()
        for service, count in counts.items():
            at = max(now, self.get(service).at + TICK_SECONDS)
            learnt = count is None
            self._by_service[service] = Expectation(service=service, count=count or 0, at=at, learnt=learnt)
            self._observations.pop(service, None)
        return [self._by_service[service] for service in counts]

    def merge(self, expectations: Iterable[Expectation]) -> bool:
        """Merge other proxies' expectations; return whether anything changed."""
        before = dict(self._by_service)
        for each in expectations:
            if each.service in self.services and not self.get(each.service).replaces(each):
                self._by_service[each.service] = each
        return self._by_service != before

    def newer_than(self, expectations: Iterable[Expectation]) -> list[Expectation]:
        """Return our expectations that replace these, or lack there."""
        stored = {each.service: each for each in expectations}
        return [each for each in self.all() if each.service not in stored or each.replaces(stored[each.service])]

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
        expected = map(self.get, self.services)
        return [ServiceReplicas(each.service, ready.get(each.service, 0), each.count, each.learnt) for each in expected]

    def explains(self, ready: Mapping[str, int]) -> bool:
        """Return whether operators retired a service, and no other lacks replicas."""
        retired = {service for url, service in self._service_by_url.items() if self.is_retired(url)}
        return bool(retired) and all(
            ready.get(service, 0) >= max(1, self.get(service).count)
            for service in self.services
            if service not in retired
        )

    def observe(self, ready: Mapping[str, int]) -> None:
        """Learn a greater number that lasted ``LEARN_SECONDS``."""
        now = self._clock()
        for service in self.services:
            known, count = self.get(service), ready.get(service, 0)
            if not known.learnt or count <= known.count:
                self._observations.pop(service, None)
                continue
            seen = self._observations.get(service)
            if seen is None or not 0 <= now - seen.last <= MAX_GAP_SECONDS:
                seen = self._observations[service] = _Observation(count, now, now)
            seen.count, seen.last = min(seen.count, count), now
            if now - seen.since >= LEARN_SECONDS:
                del self._observations[service]
                self._by_service[service] = known.model_copy(update={"count": seen.count})
                log.info("expected replicas learnt", extra={"service": service, "expected": seen.count})
