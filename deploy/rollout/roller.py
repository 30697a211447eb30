"""Rolls services one after the other, and stops at the first container that does not get ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from deploy.rollout import fleet_view
from deploy.rollout.containers import Container, Kind, Service
from deploy.rollout.docker import Docker, Project
from deploy.rollout.next_step import Action, next_step, why_failed

# As the containers' start period.
DEFAULT_TIMEOUT_SECONDS = 600.0
POLL_SECONDS = 1.0
LOG_LINES = 20
# Each container takes at most three steps: start, wait, stop.
MAX_STEPS = 1000


class RollStoppedError(Exception):
    """The roll stopped; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class RollOptions:
    """The operator's choices."""

    timeout: float = DEFAULT_TIMEOUT_SECONDS
    in_place: bool = False
    allow_outage: bool = False
    dry_run: bool = False


@dataclass(slots=True)
class Roller:
    """Roller of a project; ``say`` prints a line."""

    docker: Docker
    options: RollOptions
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _created: set[str] = field(default_factory=set[str], init=False)

    def roll(self, names: Sequence[str] = ()) -> None:
        """Bring services up to date, by default all API servers and then all proxies.

        Raises:
            RollStoppedError: a service is unknown, an image is missing, a container does not get ready, or a step
                would end the last server of a pair.
            DockerError: a command failed.
        """
        project = self.docker.read_project()
        services = select(project, names)
        for service in services:
            self._announce(service, project)
        if not self.options.dry_run:
            for service in services:
                self._roll_service(service, project)
            self._confirm_capacity(project)
        self._name_others(project)

    def _announce(self, service: Service, project: Project) -> None:
        containers = project.of(service)
        reasons = [f"{each.name}: {why}" for each in containers if (why := each.why_stale(service))]
        ended = [f"{each.name}: not running ({each.state})" for each in containers if not each.is_running]
        running = len(containers) - len(ended)
        if not reasons and not ended and running == service.replicas:
            self.say(f"{service.name}: up to date, {running} of {service.replicas}")
            return
        self.say(f"{service.name}: {running} running, {service.replicas} wanted; {len(reasons)} out of date")
        for line in dict.fromkeys((*reasons, *ended)):
            self.say(f"  {line}")

    def _roll_service(self, service: Service, project: Project) -> None:
        in_place: bool | None = None
        for _ in range(MAX_STEPS):
            project.containers = self.docker.read_containers(project.name)
            containers = project.of(service)
            fresh = [each for each in containers if each.id in self._created or each.why_stale(service) is None]
            healths = self._read_healths(project) if service.kind is Kind.API_SERVER else []
            ready = {each.id for each in fresh if is_ready(each, healths)}
            if in_place is None and len(fresh) < len(containers):
                in_place = self._chooses_in_place(service, containers)
            step = next_step(
                service,
                containers,
                fresh_ids={each.id for each in fresh},
                ready_ids=ready,
                in_place=bool(in_place),
            )
            match step.action, step.container:
                case Action.DONE, _:
                    return
                case Action.START, _:
                    self._start(service, project)
                case Action.STOP, Container() as container:
                    self._stop(container, service, project)
                case _, Container() as container:
                    self._wait(container, service, project)
                case _:
                    break
        raise RollStoppedError(f"{service.name} was not up to date after {MAX_STEPS} steps; run the roll again")

    def _chooses_in_place(self, service: Service, containers: Sequence[Container]) -> bool:
        """Return whether old containers end before new ones start, and say why."""
        one_after_the_other = "so one after the other: each old one ends before its successor starts"
        if self.options.in_place:
            return True
        if service.has_device:
            self.say(f"{service.name}: its GPU has memory for one engine, {one_after_the_other}")
            return True
        if not service.can_double:
            self.say(
                f"{service.name}: PAIRWAY_PORT has no port for one more, {one_after_the_other}. A single proxy is away "
                "for some seconds; COMPOSE_PROFILES=edge avoids that (docs/operations/nginx.md)"
            )
            return True
        if reason := self.docker.why_short_of_memory(containers):
            self.say(f"{service.name}: {reason}, {one_after_the_other}")
            return True
        return False

    def _start(self, service: Service, project: Project) -> None:
        before = {each.id for each in project.of(service)}
        self.docker.start_one(service, project)
        project.containers = self.docker.read_containers(project.name)
        started = [each for each in project.of(service) if each.id not in before]
        if not started:
            raise RollStoppedError(f"docker compose started no container of {service.name}; see docker compose ps -a")
        for each in started:
            self._created.add(each.id)
            self.say(f"{service.name}: started {each.name}")
            self._wait(each, service, project)

    def _stop(self, container: Container, service: Service, project: Project) -> None:
        if service.kind is Kind.API_SERVER and container.is_running and not self.options.allow_outage:
            for health in self._read_healths(project):
                if alone := fleet_view.pairs_served_alone(health, container.id):
                    raise RollStoppedError(
                        f"{container.name} is the only server of {', '.join(alone)}, and was not stopped. With memory "
                        "for a second one roll without --in-place; --allow-outage accepts an outage of these pairs"
                    )
        self.say(f"{service.name}: stopping {container.name}")
        self.docker.stop(container)

    def _wait(self, container: Container, service: Service, project: Project) -> None:
        """Wait until a container is ready; stop the roll if it does not get ready."""
        started = self.clock()
        while True:
            project.containers = self.docker.read_containers(project.name)
            current = next((each for each in project.containers if each.id == container.id), None)
            if current is None:
                raise RollStoppedError(f"{container.name} was removed by somebody else; run the roll again")
            waited = self.clock() - started
            healths = self._read_healths(project) if service.kind is Kind.API_SERVER else []
            if is_ready(current, healths):
                self.say(f"{service.name}: {current.name} is ready after {waited:.0f} s")
                return
            if reason := why_failed(current, waited, self.options.timeout):
                self._give_up(current, reason)
            self.sleep(POLL_SECONDS)

    def _give_up(self, container: Container, reason: str) -> None:
        self.say(f"{container.name} failed: {reason}. Its last lines:")
        for line in self.docker.read_logs(container, LOG_LINES).splitlines():
            self.say(f"  | {line}")
        removed = "It stays, because this roll did not start it"
        if container.id in self._created:
            self.docker.stop(container)
            removed = "It was removed"
        raise RollStoppedError(
            f"{container.name} failed: {reason}. {removed}; the others serve on as before. Mend the cause and run the "
            "roll again, or take the change back (an older PAIRWAY_VERSION, the old catalog or setting) and run it again"
        )

    def _read_healths(self, project: Project) -> list[dict[str, object]]:
        """Return what each proxy that answers sees."""
        healths = (self.docker.read_health(proxy) for proxy in project.running(Kind.PROXY))
        return [health for health in healths if health is not None]

    def _confirm_capacity(self, project: Project) -> None:
        """Set the expected replicas, which the proxies compare with those that are ready."""
        wanted = [f"{each.name}={each.replicas}" for each in project.services if each.kind is Kind.API_SERVER]
        project.containers = self.docker.read_containers(project.name)
        proxies = project.running(Kind.PROXY)
        command = ("python", "-m", "proxy.fleet", "expect", *wanted)
        if not wanted or not proxies:
            return
        if self.docker.execute(proxies[0], *command) is None:
            self.say(f"expected replicas were not set; do it later: docker compose exec proxy {' '.join(command)}")
        else:
            self.say(f"expected replicas: {', '.join(wanted)}")

    def _name_others(self, project: Project) -> None:
        """Name services that are out of date, and that have no second container."""
        for service in project.services:
            stale = [each for each in project.of(service) if each.why_stale(service)]
            if service.kind is Kind.OTHER and stale:
                self.say(
                    f"{service.name}: out of date ({stale[0].why_stale(service)}), and not rolled, because it is the "
                    f"only one; with a gap of a second or two: docker compose up -d {service.name}"
                )


def is_ready(container: Container, healths: Sequence[Mapping[str, object]]) -> bool:
    """Return whether a container is healthy, and each proxy sends it requests."""
    if container.state != "running" or container.health not in {"healthy", ""}:
        return False
    return all(fleet_view.is_served(health, container.id) for health in healths)


def select(project: Project, names: Sequence[str]) -> list[Service]:
    """Return the services to roll, in order.

    Raises:
        RollStoppedError: there is no such service, or its image is missing.
    """
    rolled = [each for kind in (Kind.API_SERVER, Kind.PROXY) for each in project.services if each.kind is kind]
    known = {each.name for each in rolled}
    if unknown := [name for name in names if name not in known]:
        raise RollStoppedError(f"{unknown[0]} cannot be rolled; these can: {', '.join(sorted(known))}")
    services = [each for each in rolled if not names or each.name in names]
    for service in services:
        if service.image_id is None and service.replicas:
            raise RollStoppedError(f"there is no image {service.image}; build it: docker compose build")
        if service.catalog is not None and not service.catalog_changed_at:
            raise RollStoppedError(f"{service.name}: there is no catalog {service.catalog}")
    return services
