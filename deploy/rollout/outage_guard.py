"""Outage guard: why a step of a roll would be an outage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from deploy.rollout import fleet_view
from deploy.rollout.containers import Container, Kind, Service
from deploy.rollout.docker import Docker, Project
from deploy.rollout.readiness import NO_ANSWER, POLL_SECONDS, Readiness, has_proxies

# For one proxy to answer, before a server is stopped.
ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class OutageGuard:
    """Reasons against a step, from what the proxies answer."""

    docker: Docker
    readiness: Readiness
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def why_not_end(self, container: Container, service: Service, project: Project) -> str | None:
        """Return why a container may not end: it is a pair's only server, or no proxy says whether it is."""
        if service.kind is not Kind.API_SERVER or not container.is_running:
            return None
        healths = self._ask_proxies(project)
        if healths is None:
            return (
                f"{NO_ANSWER}, so {container.name}, which may be the only server of a pair, was not stopped. See "
                "docker compose ps and logs proxy; --allow-outage stops it without asking"
            )
        for health in healths:
            if alone := fleet_view.pairs_served_alone(health, container.id):
                beside = "With memory for a second one roll without --in-place; " if service.replicas else ""
                return (
                    f"{container.name} is the only server of {', '.join(alone)}, and was not stopped. {beside}"
                    "--allow-outage accepts an outage of these pairs"
                )
        return None

    def why_not_replace(self, service: Service, project: Project) -> str | None:
        """Return why a service's containers may not be replaced: new proxies could not read the keys."""
        stale = [each for each in project.of(service) if each.why_stale(service)]
        if not service.has_keys or not stale:
            return None
        errors = [fleet_view.redis_error(health) for health in self.readiness.read_healths(project).values()]
        reason = next((each for each in errors if each), None)
        return reason and (
            f"Redis is away ({reason}), so a new proxy would know no API keys, and the present ones remember them "
            "for an hour. Start Redis first (docker compose up -d redis); --allow-outage rolls in spite of it"
        )

    def _ask_proxies(self, project: Project) -> list[Mapping[str, Any]] | None:
        """Return the proxies' answers; None if none answers in ``ANSWER_SECONDS``."""
        started = self.clock()
        while True:
            healths = self.readiness.read_healths(project)
            if healths or not has_proxies(project):
                return list(healths.values())
            if self.clock() - started > ANSWER_SECONDS:
                return None
            self.sleep(POLL_SECONDS)
            project.containers = self.docker.read_containers(project.name)
