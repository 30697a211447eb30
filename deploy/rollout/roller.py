"""Rolls services one after the other, and stops at the first container that does not get ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from deploy.readiness import ready_pairs
from deploy.rollout import next_step
from deploy.rollout.containers import Container, Project, Service
from deploy.rollout.docker import Docker, RollError
from deploy.rollout.next_step import Healths, Step

# As the containers' start period.
DEFAULT_TIMEOUT_SECONDS = 600.0
# Between two looks at the fleet; a look costs up to half a processor second.
POLL_SECONDS = 2.0
# For one proxy to answer, before a step of an API server.
ANSWER_SECONDS = 60.0
LOG_LINES = 20
# Each container takes at most three steps: start, wait, stop.
MAX_STEPS = 1000


@dataclass(slots=True)
class Roller:
    """Roller of a project; ``say`` prints a line."""

    docker: Docker
    say: Callable[[str], None]
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    in_place: bool = False
    allow_outage: bool = False
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _created: set[str] = field(default_factory=set[str], init=False)
    # What the proxies saw before the last step: a new proxy is to see it too.
    _pairs_before: frozenset[str] = field(default=frozenset(), init=False)

    def roll(self, project: Project, services: Sequence[Service], *, dry_run: bool = False) -> None:
        """Bring services up to date; ``dry_run`` only says which are not.

        Raises:
            RollError: a container does not get ready, a step would be an outage, or a command failed.
        """
        for service in project.services:
            self._announce(service, project, is_rolled=service in services)
        if dry_run:
            return
        for service in services:
            self._roll_service(service, project)
        for service in project.of_kind("apiserver"):
            self._expect(service, project)

    def _announce(self, service: Service, project: Project, *, is_rolled: bool) -> None:
        containers = project.of(service)
        reasons = [f"{each.name}: {why}" for each in containers if (why := each.why_stale(service))]
        ended = [f"{each.name}: not running ({each.state})" for each in containers if not each.is_running]
        if is_rolled:
            count = f"{len(containers) - len(ended)} running, {service.replicas} wanted"
            self.say("\n  ".join([f"{service.name}: {count}; {len(reasons)} out of date", *reasons, *ended]))
        elif service.kind == "other" and reasons:
            self.say(f"{service.name} is not rolled. {reasons[0]}; with a gap: docker compose up -d {service.name}")

    def _roll_service(self, service: Service, project: Project) -> None:
        in_place = self._chooses_in_place(service, project)
        for _ in range(MAX_STEPS):
            project.containers = self.docker.read_containers(project.name)
            healths = self._ask_proxies(project, ANSWER_SECONDS if service.kind == "apiserver" else 0.0)
            self._pairs_before = ready_pairs(*healths.values())
            containers = project.of(service)
            fresh = [each for each in containers if each.id in self._created or each.why_stale(service) is None]
            waiting = {each: why for each in fresh if (why := self._why_not_serving(each, service, project, healths))}
            # One that is up to date and broken delays nobody, but no old one ends for it.
            broken = {each for each in waiting if each.health == "unhealthy" and len(fresh) == len(containers)}
            step = next_step.next_step(
                service,
                containers,
                fresh_ids={each.id for each in fresh},
                ready_ids={each.id for each in fresh if each not in waiting or each in broken},
                in_place=in_place,
            )
            if step[0] == "done":
                for each in broken:
                    self.say(f"{service.name}: warning: {each.name} is up to date and does not serve: {waiting[each]}")
                return
            reason = next_step.why_forbidden(step, service, healths, has_proxies=project.has_proxies)
            if reason and not self.allow_outage:
                raise RollError(reason)
            self._take(step, service, project)
        raise RollError(f"{service.name} was not up to date after {MAX_STEPS} steps; run the roll again")

    def _take(self, step: Step, service: Service, project: Project) -> None:
        action, container = step
        if container is None:
            new = self._add(service, project, start=True)
            if reason := self._why_not_started(new, service, project):
                self.docker.change(new, "rm", "--force", "--volumes")
                raise _stopped(f"{reason}. {new.name} was removed")
        elif action == "replace":
            self._replace(container, service, project)
        elif action == "stop":
            self.say(f"{service.name}: stopping {container.name}")
            self.docker.change(container, "stop")
            self.docker.change(container, "rm", "--force", "--volumes")
        elif reason := self._why_not_started(container, service, project):
            raise _stopped(f"{reason}. {container.name} stays, because this roll did not start it")

    def _replace(self, old: Container, service: Service, project: Project) -> None:
        """End an old container, then start its successor; the old one is removed once the new one is ready.

        docker compose would start a stopped one again, so it creates the successor before, and docker starts it.
        """
        new = self._add(service, project, start=False)
        try:
            self.say(f"{service.name}: stopping {old.name}")
            self.docker.change(old, "stop")
            self.docker.change(new, "start")
            if reason := self._why_not_started(new, service, project):
                raise _stopped(f"{reason}. {new.name} was removed")
        except (RollError, KeyboardInterrupt):
            self.say(f"{service.name}: removing {new.name}, and starting {old.name} again")
            self.docker.change(new, "rm", "--force", "--volumes")
            # The stop may be under way still.
            self.docker.change(old, "stop")
            self.docker.change(old, "start")
            raise
        self.docker.change(old, "rm", "--force", "--volumes")

    def _add(self, service: Service, project: Project, *, start: bool) -> Container:
        """Create one container more."""
        before = {each.id for each in project.of(service)}
        self.docker.add_one(service, project, start=start)
        project.containers = self.docker.read_containers(project.name)
        found = [each for each in project.of(service) if each.id not in before]
        if not found:
            raise RollError(f"docker compose created no container of {service.name}; see docker compose ps -a")
        self._created.update(each.id for each in found)
        return found[0]

    def _why_not_started(self, container: Container, service: Service, project: Project) -> str | None:
        """Wait until a container serves; return the reason to give it up, or None."""
        self.say(f"{service.name}: waiting for {container.name}")
        started = self.clock()
        while True:
            project.containers = self.docker.read_containers(project.name)
            current = next((each for each in project.containers if each.id == container.id), None)
            if current is None:
                raise RollError(f"{container.name} was removed by somebody else; run the roll again")
            waited = self.clock() - started
            # What proxies see costs most, and counts only once Docker finds the server healthy, or it is given up.
            is_early = service.kind == "apiserver" and current.health == "starting" and waited <= self.timeout
            healths: Healths = {} if is_early else self._ask_proxies(project)
            why = self._why_not_serving(current, service, project, healths)
            if why is None:
                self.say(f"{service.name}: {current.name} is ready after {waited:.0f} s")
                return None
            if reason := next_step.why_failed(current, waited=waited, timeout=self.timeout):
                logs = self.docker.read_logs(current, LOG_LINES).splitlines()
                self.say("\n  | ".join([f"{current.name} failed: {reason}. Its last lines:", *logs]))
                return f"{current.name} failed: {reason} ({why})"
            self.sleep(POLL_SECONDS)

    def _why_not_serving(
        self, container: Container, service: Service, project: Project, healths: Healths
    ) -> str | None:
        return next_step.why_not_serving(
            container, service.kind, healths, pairs_before=self._pairs_before, has_proxies=project.has_proxies
        )

    def _chooses_in_place(self, service: Service, project: Project) -> bool:
        """Return whether old containers end before new ones start, and say why."""
        stale = [each for each in project.of(service) if each.why_stale(service)]
        if self.in_place or not stale:
            return self.in_place
        reason = next_step.why_no_capacity(service, *self.docker.read_memory(stale))
        if reason:
            self.say(f"{service.name}: {reason}, so each old one ends before its successor starts")
        return reason is not None

    def _ask_proxies(self, project: Project, patience: float = 0.0) -> Healths:
        """Return what each proxy that answers sees; wait as long for one to answer."""
        give_up_at = self.clock() + patience
        while True:
            answers = {each.name: self.docker.read_health(each) for each in project.running_proxies}
            healths = {name: health for name, health in answers.items() if health is not None}
            if healths or not project.has_proxies or self.clock() >= give_up_at:
                return healths
            self.sleep(POLL_SECONDS)
            project.containers = self.docker.read_containers(project.name)

    def _expect(self, service: Service, project: Project) -> None:
        """Set a service's expected replicas, which the proxies compare with those that are ready."""
        command = ("python", "-m", "proxy", "fleet", "expect", f"{service.name}={service.replicas}")
        for proxy in project.running_proxies[:1]:
            try:
                self.docker.execute(proxy, *command)
            except RollError as error:
                why = str(error).splitlines()[-1]
                self.say(f"not set: {why}; later: docker compose exec proxy {' '.join(command)}")
            else:
                self.say(f"expected replicas: {command[-1]}")


def select(project: Project, names: Sequence[str]) -> list[Service]:
    """Return the services to roll, in order: by default all API servers, then all proxies.

    Raises:
        RollError: there is no such service, or its image or catalog is missing, or nothing runs yet.
    """
    if not project.containers:
        raise RollError("the project has no containers yet; first: docker compose up -d --wait")
    rolled = [*project.of_kind("apiserver"), *project.of_kind("proxy")]
    known = {each.name for each in rolled}
    if unknown := [name for name in names if name not in known]:
        raise RollError(f"{unknown[0]} cannot be rolled; these can: {', '.join(sorted(known))}")
    services = [each for each in rolled if not names or each.name in names]
    for service in services:
        if service.image_id is None and service.replicas:
            raise RollError(f"there is no image {service.image}; build it: docker compose build")
        if service.catalog is not None and not service.catalog_changed_at:
            raise RollError(f"{service.name}: there is no catalog {service.catalog}")
    return services


def _stopped(message: str) -> RollError:
    """Return the error, with what to do."""
    return RollError(
        f"{message}. The others run on. Mend the cause, or take the change back, and run the roll again; not docker "
        "compose up -d, which would recreate all with the change"
    )
