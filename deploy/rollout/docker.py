"""Runs docker and docker compose; the only file here that starts programs or reads the host's files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess
from typing import Any

from deploy.rollout.containers import Container, Project, Service, parse_container, parse_service

# Queries answer within a second; a busy engine takes longer.
QUERY_SECONDS = 60.0
# Creating a container, or stopping one, which may finish requests for as long as PAIRWAY_STOP_GRACE says.
CHANGE_SECONDS = 3600.0
EXEC_SECONDS = 15.0
ERROR_LINES = 10
SETTINGS_ARE_RIGHT = "check: the settings are right"
PREFIXES = ("PAIRWAY_", "PROXY_", "APISERVER_")
# A program for the proxy's container that prints its /health, with "accepts" for its /readyz.
READ_HEALTH = (
    "import http.client as h, json; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); "
    "ask = lambda path: (c.request('GET', path), c.getresponse())[1]; "
    "status = (answer := ask('/readyz')).status; answer.read(); "
    "print(json.dumps({**json.loads(ask('/health').read()), 'accepts': status == 200}))"
)


class RollError(Exception):
    """The roll stopped, or a command failed; the message says why, and what to do."""


def run_program(command: Sequence[str], timeout: float) -> CompletedProcess[str]:
    """Run a program without input.

    Raises:
        RollError: there is no such program, or it takes longer than ``timeout`` seconds.
    """
    try:
        return subprocess.run(
            command, stdin=DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RollError(f"{' '.join(command)}: {error}") from error


@dataclass(frozen=True, slots=True)
class Docker:
    """The docker command, with the options that docker compose gets each time."""

    compose_options: tuple[str, ...] = ()
    run: Callable[[Sequence[str], float], CompletedProcess[str]] = run_program
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

    def read_project(self) -> Project:
        """Read all services and containers."""
        config: dict[str, Any] = json.loads(self._run(self._compose("config", "--format", "json")))
        lines = self._run(self._compose("config", "--hash", "*")).splitlines()
        hashes = dict(line.split(maxsplit=1) for line in lines if line.strip())
        services = [
            parse_service(name, each, hashes.get(name, ""), self._image_id(each.get("image", "")), changed_at)
            for name, each in config["services"].items()
        ]
        return Project(config["name"], services, self.read_containers(config["name"]))

    def read_containers(self, project: str) -> list[Container]:
        """Read all containers of the project, ended ones too, without one-off ones."""
        labels = (f"com.docker.compose.project={project}", "com.docker.compose.oneoff=False")
        filters = [option for label in labels for option in ("--filter", f"label={label}")]
        ids = self._run([self.program, "ps", "--all", "--quiet", "--no-trunc", *filters]).split()
        # It fails for one that is just removed, and describes all others.
        inspected = (
            self.run([self.program, "inspect", "--type", "container", *ids], QUERY_SECONDS).stdout if ids else ""
        )
        return [parse_container(each) for each in json.loads(inspected or "[]")]

    def add_one(self, service: Service, project: Project, *, start: bool) -> None:
        """Create one container more, and start it unless its port may be in use; all others stay as they are.

        Not with ``--no-deps``: compose would note the container without its dependencies, and the next plain ``up``
        would replace it. So the dependencies' present numbers are given too.
        """
        involved = {service.name, *service.depends_on}
        counts = {each.name: len(project.of(each)) for each in project.services if each.name in involved}
        counts[service.name] += 1
        scales = [option for name, count in counts.items() for option in ("--scale", f"{name}={count}")]
        mode = "--detach" if start else "--no-start"
        self._run(self._compose("up", mode, "--no-recreate", "--no-build", *scales, service.name), CHANGE_SECONDS)

    def change(self, container: Container, *command: str) -> None:
        """Start, stop or remove a container; one that stops finishes its requests."""
        self._run([self.program, *command, container.id], CHANGE_SECONDS)

    def read_logs(self, container: Container, lines: int) -> str:
        """Return a container's last log lines."""
        done = self.run([self.program, "logs", "--tail", str(lines), container.id], QUERY_SECONDS)
        return done.stdout + done.stderr

    def read_health(self, proxy: Container) -> dict[str, Any] | None:
        """Return the fleet as a proxy sees it, or None if it does not answer."""
        text = self._try([self.program, "exec", proxy.id, "python", "-c", READ_HEALTH], EXEC_SECONDS)
        return json.loads(text) if text else None

    def execute(self, container: Container, *command: str) -> None:
        """Run a command in a container."""
        self._run([self.program, "exec", container.id, *command], EXEC_SECONDS)

    def read_memory(self, containers: Sequence[Container]) -> tuple[str, str]:
        """Return the host's /proc/meminfo, and a line of `docker stats` for each running container; empty if unknown."""
        ids = [each.id for each in containers if each.state == "running"]
        if not ids:
            return "", ""
        meminfo = self._try([self.program, "exec", ids[0], "cat", "/proc/meminfo"], EXEC_SECONDS)
        return meminfo, self._try([self.program, "stats", "--no-stream", "--format", "{{.MemUsage}}", *ids])

    def _image_id(self, image: str) -> str | None:
        return self._try([self.program, "image", "inspect", "--format", "{{.Id}}", image]).strip() or None

    def _compose(self, *arguments: str) -> list[str]:
        return [self.program, "compose", *self.compose_options, *arguments]

    def _run(self, command: Sequence[str], timeout: float = QUERY_SECONDS) -> str:
        done = self.run(command, timeout)
        if done.returncode:
            tail = "\n".join(done.stderr.splitlines()[-ERROR_LINES:])
            raise RollError(f"{' '.join(command)} exited with {done.returncode}:\n{tail}")
        return done.stdout

    def _try(self, command: Sequence[str], timeout: float = QUERY_SECONDS) -> str:
        """Return a command's output, empty if it fails."""
        try:
            return self._run(command, timeout)
        except RollError:
            return ""


def changed_at(path: Path) -> float:
    """Return when a file changed, also by a rename or copy that keeps its time; 0 if it does not exist."""
    try:
        state = path.stat()
    except OSError:
        return 0.0
    return max(state.st_mtime, state.st_ctime)
