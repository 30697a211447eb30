"""Whether a container serves, as the proxies see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deploy.rollout import fleet_view
from deploy.rollout.containers import Container, Kind, Service
from deploy.rollout.docker import Docker, Project

NO_ANSWER = "no proxy answers"
# Between two looks at the fleet.
POLL_SECONDS = 1.0


@dataclass(slots=True)
class Readiness:
    """What all proxies answer, and what follows for a container.

    A proxy is not judged by its container's health: that waits for every pair that a server has, also for those of a
    broken engine, which no other proxy serves either.
    """

    docker: Docker
    # What the proxies saw before one of them ended.
    _pairs_before: frozenset[str] = field(default=frozenset(), init=False)

    def read_healths(self, project: Project) -> dict[str, Mapping[str, Any]]:
        """Return the answer of each proxy that answers, by its container's id."""
        answers = {each.id: self.docker.read_health(each) for each in project.running(Kind.PROXY)}
        return {identity: health for identity, health in answers.items() if health is not None}

    def remember_pairs(self, project: Project) -> None:
        """Remember the pairs that the proxies see ready: a new proxy is to see them too."""
        pairs = [fleet_view.ready_pairs(health) for health in self.read_healths(project).values()]
        self._pairs_before = frozenset().union(*pairs)

    def why_not(self, container: Container, service: Service, project: Project) -> str | None:
        """Return why a container does not serve yet, or None."""
        if container.state != "running":
            return f"it is {container.state}"
        healths = self.read_healths(project)
        if service.kind is Kind.PROXY:
            return self._why_proxy_waits(container, healths)
        if container.health not in {"healthy", ""}:
            reasons = [why for health in healths.values() if (why := fleet_view.why_not_served(health, container.id))]
            return "; ".join([f"Docker finds it {container.health}", *reasons[:1]])
        if not healths and has_proxies(project):
            return NO_ANSWER
        names = {each.id: each.name for each in project.containers}
        for identity, health in healths.items():
            if why := fleet_view.why_not_served(health, container.id):
                return f"{names[identity]} sees: {why}"
        return None

    def is_drained(self, container: Container, project: Project) -> bool:
        """Return whether an operator drained a container."""
        return any(fleet_view.is_drained(health, container.id) for health in self.read_healths(project).values())

    def _why_proxy_waits(self, container: Container, healths: Mapping[str, Mapping[str, Any]]) -> str | None:
        own = healths.get(container.id)
        if own is None:
            return "it does not answer"
        if not own.get("accepts"):
            return "its /readyz is not 200"
        others = [each for identity, each in healths.items() if identity != container.id and each.get("accepts")]
        wanted = frozenset[str]().union(*map(fleet_view.ready_pairs, others)) if others else self._pairs_before
        missing = sorted(wanted - fleet_view.ready_pairs(own))
        return f"it does not see {', '.join(missing)} ready, as the old proxies did" if missing else None


def has_proxies(project: Project) -> bool:
    """Return whether the project should have proxies."""
    return any(each.kind is Kind.PROXY and each.replicas for each in project.services)
