"""Runs docker and docker compose; the only file here that starts programs or reads the host's files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.rollout import fleet_view, memory
from deploy.rollout.containers import Container, Kind, Service, parse_container, parse_service

# Queries answer within a second; a busy engine takes longer.
QUERY_SECONDS = 60.0
# Creating a container, or stopping one, which may finish requests for as long as PAIRWAY_STOP_GRACE says.
CHANGE_SECONDS = 3600.0
EXEC_SECONDS = 15.0
ERROR_LINES = 10
SETTINGS_ARE_RIGHT = "check: the settings are right"
PREFIXES = ("PAIRWAY_", "PROXY_", "APISERVER_")


class DockerError(Exception):
    """A command failed; the message has its last lines."""


def run_program(command: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a program without input.

    Raises:
        DockerError: there is no such program, or it takes longer than ``timeout`` seconds.
    """
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DockerError(f"{' '.join(command)}: {error}") from error


@dataclass(slots=True)
class Project:
    """All services with their containers, at one moment."""

    name: str
    services: list[Service]
    containers: list[Container] = field(default_factory=list[Container])

    def of(self, service: Service) -> list[Container]:
        """Return a service's containers."""
        return [each for each in self.containers if each.service == service.name]

    def running(self, kind: Kind) -> list[Container]:
        """Return the running containers of all services of a kind."""
        names = {service.name for service in self.services if service.kind is kind}
        return [each for each in self.containers if each.service in names and each.state == "running"]


@dataclass(frozen=True, slots=True)
class Docker:
    """The docker command, with the options that docker compose gets each time."""

    compose_options: tuple[str, ...] = ()
    run: Callable[[Sequence[str], float], subprocess.CompletedProcess[str]] = run_program
    program: str = "docker"

    def check_settings(self, env_files: Sequence[str] = ()) -> tuple[int, str]:
        """Run the check of all settings, with this shell's; return its exit status and output.

        ``env_files`` are those of compose's ``--env-file``; without, compose reads .env.
        """
        shell = [option for name in sorted(os.environ) if name.startswith(PREFIXES) for option in ("-e", name)]
        check = self._compose("--profile", "check", "run", "--rm", "--no-deps", "-T", *shell, "check")
        # Once for each file: the service takes the names of one file, and the values of all.
        each_file = [("env", f"COMPOSE_ENV_FILES={Path(path).absolute()}") for path in env_files]
        status = 0
        output: list[str] = []
        for prefix in each_file or [()]:
            done = self.run([*prefix, *check], CHANGE_SECONDS)
            status = status or done.returncode
            lines = f"{done.stdout}\n{done.stderr}".splitlines()
            output += [line for line in lines if line.startswith("check: ")] or lines[-ERROR_LINES:]
        return status, "\n".join(line for line in dict.fromkeys(output) if not status or line != SETTINGS_ARE_RIGHT)

    def why_not_checked(self) -> str:
        """Return why the check of settings could not run, and what to do."""
        text = self._try(self._compose("config", "--format", "json"))
        if text is None:
            return (
                "docker compose cannot read its files or .env (its message is above); a duration needs a unit, such as "
                "PAIRWAY_STOP_GRACE=60s"
            )
        image = json.loads(text)["services"].get("proxy", {}).get("image", "")
        if image and self._image_id(image) is None:
            return f"there is no image {image}; build it: docker compose build"
        return "the check of settings could not run; --no-check skips it, for images without it"

    def read_project(self) -> Project:
        """Read all services and containers."""
        config: dict[str, Any] = json.loads(self._run(self._compose("config", "--format", "json")))
        lines = self._run(self._compose("config", "--hash", "*")).splitlines()
        hashes = dict(line.split(maxsplit=1) for line in lines if line.strip())
        services = [
            parse_service(name, each, hashes.get(name, ""), self._image_id(each.get("image", "")), changed_at)
            for name, each in config["services"].items()
        ]
        project = Project(config["name"], services)
        project.containers = self.read_containers(project.name)
        return project

    def read_containers(self, project: str) -> list[Container]:
        """Read all containers of the project, ended ones too, without one-off ones."""
        labels = (f"com.docker.compose.project={project}", "com.docker.compose.oneoff=False")
        filters = [option for label in labels for option in ("--filter", f"label={label}")]
        ids = self._run([self.program, "ps", "--all", "--quiet", "--no-trunc", *filters]).split()
        # One by one, because one that is just removed would fail all.
        inspected = [self._try([self.program, "inspect", "--type", "container", each]) for each in ids]
        return [parse_container(json.loads(text)[0]) for text in inspected if text is not None]

    def start_one(self, service: Service, project: Project) -> None:
        """Start one container more; all others stay as they are.

        Not with ``--no-deps``: compose would note the container without its dependencies, and the next plain ``up``
        would replace it. So the dependencies' present numbers are given too.
        """
        self._up("--detach", service, project)

    def create_one(self, service: Service, project: Project) -> None:
        """Create one container more, without its start; its port may still be in use."""
        self._up("--no-start", service, project)

    def _up(self, option: str, service: Service, project: Project) -> None:
        involved = {service.name, *service.depends_on}
        counts = {each.name: len(project.of(each)) for each in project.services if each.name in involved}
        counts[service.name] += 1
        scales = [option for name, count in counts.items() for option in ("--scale", f"{name}={count}")]
        self._run(self._compose("up", option, "--no-recreate", "--no-build", *scales, service.name), CHANGE_SECONDS)

    def start(self, container: Container) -> None:
        """Start a container that is created or stopped."""
        self._run([self.program, "start", container.id], CHANGE_SECONDS)

    def stop(self, container: Container) -> None:
        """Stop a container, which finishes its requests."""
        self._run([self.program, "stop", container.id], CHANGE_SECONDS)

    def remove(self, container: Container) -> None:
        """Remove a container."""
        self._run([self.program, "rm", "--force", "--volumes", container.id], CHANGE_SECONDS)

    def read_logs(self, container: Container, lines: int) -> str:
        """Return a container's last log lines."""
        done = self.run([self.program, "logs", "--tail", str(lines), container.id], QUERY_SECONDS)
        return done.stdout + done.stderr

    def read_health(self, proxy: Container) -> dict[str, Any] | None:
        """Return the fleet as a proxy sees it, or None if it does not answer."""
        text = self.execute(proxy, "python", "-c", fleet_view.READ_HEALTH)
        try:
            return None if text is None else json.loads(text)
        except ValueError:
            return None

    def execute(self, container: Container, *command: str) -> str | None:
        """Run a command in a container; return its output, or None if it fails."""
        return self._try([self.program, "exec", container.id, *command], EXEC_SECONDS)

    def why_short_of_memory(self, containers: Sequence[Container]) -> str | None:
        """Return why one more container like these would not fit, or None."""
        ids = [each.id for each in containers if each.state == "running"]
        if not ids:
            return None
        meminfo = self._try([self.program, "exec", ids[0], "cat", "/proc/meminfo"], EXEC_SECONDS)
        used = self._try([self.program, "stats", "--no-stream", "--format", "{{.MemUsage}}", *ids])
        return memory.why_short(memory.parse_available(meminfo or ""), memory.parse_used((used or "").splitlines()))

    def _image_id(self, image: str) -> str | None:
        found = self._try([self.program, "image", "inspect", "--format", "{{.Id}}", image])
        return None if found is None else found.strip()

    def _compose(self, *arguments: str) -> list[str]:
        return [self.program, "compose", *self.compose_options, *arguments]

    def _run(self, command: Sequence[str], timeout: float = QUERY_SECONDS) -> str:
        done = self.run(command, timeout)
        if done.returncode:
            tail = "\n".join(done.stderr.splitlines()[-ERROR_LINES:])
            raise DockerError(f"{' '.join(command)} exited with {done.returncode}:\n{tail}")
        return done.stdout

    def _try(self, command: Sequence[str], timeout: float = QUERY_SECONDS) -> str | None:
        try:
            return self._run(command, timeout)
        except DockerError:
            return None


def changed_at(path: Path) -> float:
    """Return when a file changed, also by a rename or copy that keeps its time; 0 if it does not exist."""
    try:
        state = path.stat()
    except OSError:
        return 0.0
    return max(state.st_mtime, state.st_ctime)
