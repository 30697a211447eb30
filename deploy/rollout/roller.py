"""Rolls services one after the other, and stops at the first container that does not get ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from deploy.rollout import fleet_view
from deploy.rollout.containers import Container, Kind, Service
from deploy.rollout.docker import Docker, DockerError, Project
from deploy.rollout.expected_capacity import confirm_capacity
from deploy.rollout.next_step import Action, next_step, why_failed
from deploy.rollout.outage_guard import OutageGuard
from deploy.rollout.readiness import POLL_SECONDS, Readiness

# As the containers' start period.
DEFAULT_TIMEOUT_SECONDS = 600.0
LOG_LINES = 20
# Each container takes at most three steps: start, wait, stop.
MAX_STEPS = 1000


class RollStoppedError(Exception):
    """The roll stopped; the message says why and what to do."""


class _NotReadyError(Exception):
    """A container did not get ready."""


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
    # Broken ones that are up to date.
    _passed: set[str] = field(default_factory=set[str], init=False)
    _readiness: Readiness = field(init=False)
    _guard: OutageGuard = field(init=False)

    def __post_init__(self) -> None:
        self._readiness = Readiness(self.docker)
        self._guard = OutageGuard(self.docker, self._readiness, self.clock, self.sleep)

    def roll(self, names: Sequence[str] = ()) -> None:
        """Bring services up to date, by default all API servers and then all proxies.

        Raises:
            RollStoppedError: a service is unknown, an image is missing, a container does not get ready, or a step
                would end the last server of a pair.
            DockerError: a command failed.
        """
        project = self.docker.read_project()
        services = select(project, names)
        if not any(project.of(each) for each in project.services):
            raise RollStoppedError("the project has no containers yet; first: docker compose up -d --wait")
        for service in services:
            self._announce(service, project)
        if not self.options.dry_run:
            for service in services:
                if not self.options.allow_outage:
                    _refuse(self._guard.why_not_replace(service, project))
                self._roll_service(service, project)
            confirm_capacity(self.docker, project, self.say)
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
            ready = {each.id for each in fresh if self._serves(each, service, project)}
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
                case Action.REPLACE, Container() as container:
                    self._replace(container, service, project)
                case _, Container() as container:
                    self._wait_or_pass(container, service, project, is_rolled=len(fresh) == len(containers))
                case _:
                    break
        raise RollStoppedError(f"{service.name} was not up to date after {MAX_STEPS} steps; run the roll again")

    def _serves(self, container: Container, service: Service, project: Project) -> bool:
        return container.id in self._passed or self._readiness.why_not(container, service, project) is None

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
        for each in self._find_new(before, service, project):
            self.say(f"{service.name}: started {each.name}")
            try:
                self._wait(each, service, project, self.options.timeout)
            except _NotReadyError as error:
                self.docker.remove(each)
                raise self._stopped(f"{error}. {each.name} was removed", service, project) from error

    def _find_new(self, before: Collection[str], service: Service, project: Project) -> list[Container]:
        project.containers = self.docker.read_containers(project.name)
        found = [each for each in project.of(service) if each.id not in before]
        if not found:
            raise RollStoppedError(f"docker compose started no container of {service.name}; see docker compose ps -a")
        self._created.update(each.id for each in found)
        return found

    def _replace(self, old: Container, service: Service, project: Project) -> None:
        """End an old container, then start its successor; the old one is removed once the new one is ready.

        docker compose would start a stopped one again, so it creates the successor before, and docker starts it.
        """
        self._guard_pairs(old, service, project)
        if service.kind is Kind.PROXY:
            self._readiness.remember_pairs(project)
        before = {each.id for each in project.of(service)}
        self.docker.create_one(service, project)
        (new, *_) = self._find_new(before, service, project)
        try:
            self.say(f"{service.name}: stopping {old.name}")
            self.docker.stop(old)
            self.docker.start(new)
            self.say(f"{service.name}: started {new.name}")
            self._wait(new, service, project, self.options.timeout)
        except (_NotReadyError, DockerError, KeyboardInterrupt) as error:
            self._restore(old, new, service)
            if isinstance(error, KeyboardInterrupt):
                raise
            raise self._stopped(f"{error}. {new.name} was removed", service, project) from error
        self.docker.remove(old)

    def _restore(self, old: Container, new: Container, service: Service) -> None:
        self.say(f"{service.name}: removing {new.name}, and starting {old.name} again")
        try:
            self.docker.remove(new)
            # The stop may be under way still.
            self.docker.stop(old)
            self.docker.start(old)
        except DockerError as error:
            self.say(f"{old.name} did not start again: {error}")

    def _guard_pairs(self, container: Container, service: Service, project: Project) -> None:
        if not self.options.allow_outage:
            _refuse(self._guard.why_not_end(container, service, project))

    def _stop(self, container: Container, service: Service, project: Project) -> None:
        self._guard_pairs(container, service, project)
        self.say(f"{service.name}: stopping {container.name}")
        self.docker.stop(container)
        self.docker.remove(container)

    def _wait_or_pass(self, container: Container, service: Service, project: Project, *, is_rolled: bool) -> None:
        """Wait for a container that is up to date; pass over a broken one if none out of date is left."""
        timeout = 0.0 if is_rolled and container.health == "unhealthy" else self.options.timeout
        try:
            self._wait(container, service, project, timeout)
        except _NotReadyError as error:
            if not is_rolled:
                why_kept = f"{error}. {container.name} stays, because this roll did not start it"
                raise self._stopped(why_kept, service, project) from error
            self._passed.add(container.id)
            self.say(f"{service.name}: warning: {error}. It is up to date, so the roll goes on; mend it")

    def _wait(self, container: Container, service: Service, project: Project, timeout: float) -> None:
        """Wait until a container is ready."""
        started = self.clock()
        restarts_before = 0 if container.id in self._created else container.restarts
        while True:
            project.containers = self.docker.read_containers(project.name)
            current = next((each for each in project.containers if each.id == container.id), None)
            if current is None:
                raise RollStoppedError(f"{container.name} was removed by somebody else; run the roll again")
            waited = self.clock() - started
            why = self._readiness.why_not(current, service, project)
            if why is None:
                drained = self._readiness.is_drained(current, project)
                addition = f", and {fleet_view.DRAINED}: it gets no requests" if drained else ""
                self.say(f"{service.name}: {current.name} is ready after {waited:.0f} s{addition}")
                return
            if reason := why_failed(current, waited=waited, timeout=timeout, restarts_before=restarts_before):
                self._show_logs(current, reason)
                raise _NotReadyError(f"{current.name} failed: {reason} ({why})")
            self.sleep(POLL_SECONDS)

    def _show_logs(self, container: Container, reason: str) -> None:
        self.say(f"{container.name} failed: {reason}. Its last lines:")
        for line in self.docker.read_logs(container, LOG_LINES).splitlines():
            self.say(f"  | {line}")

    def _stopped(self, message: str, service: Service, project: Project) -> RollStoppedError:
        """Return the error, with what still runs and what to do."""
        project.containers = self.docker.read_containers(project.name)
        running = [each.name for each in project.of(service) if each.is_running]
        present = f"Running: {', '.join(running)}" if running else f"No container of {service.name} runs"
        return RollStoppedError(
            f"{message}. {present}. Mend the cause and run the roll again, or take the change back (an older "
            "PAIRWAY_VERSION, the old catalog or setting) and run it again"
        )

    def _name_others(self, project: Project) -> None:
        """Name services that are out of date, and that have no second container."""
        for service in project.services:
            stale = [each for each in project.of(service) if each.why_stale(service)]
            if service.kind is Kind.OTHER and stale:
                self.say(
                    f"{service.name}: out of date ({stale[0].why_stale(service)}), and not rolled, because it is the "
                    f"only one; with a gap of a second or two: docker compose up -d {service.name}"
                )


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


def _refuse(reason: str | None) -> None:
    if reason is not None:
        raise RollStoppedError(reason)
