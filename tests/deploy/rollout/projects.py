"""A project with a fake docker, for tests of rolls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from deploy.rollout.docker import Docker
from deploy.rollout.roller import Roller, select
from tests.deploy.rollout.fake_docker import FakeDocker, container, service

ALL = ("proxy-1", "apiserver-de-1", "apiserver-fr-1")


@dataclass(slots=True)
class FakeProject:
    """A project's state in a file, its docker program, and what a roll said."""

    folder: Path
    lines: list[str] = field(default_factory=list[str])
    now: float = 0.0
    # Programs that ran in containers.
    executions: int = 0

    def write(self, services: dict[str, dict[str, Any]], containers: list[dict[str, Any]], **more: Any) -> None:
        """Set the state."""
        state = {"services": services, "containers": containers, "changes": [], **more}
        (self.folder / "state.json").write_text(json.dumps(state))

    @property
    def docker(self) -> Docker:
        """The adapter, with the fake in this process."""
        return Docker(run=self.run)

    def run(self, command: Sequence[str], timeout: float) -> CompletedProcess[str]:
        """Answer one command."""
        assert command[0] == "docker"
        assert timeout > 0
        self.executions += command[1] == "exec"
        fake = FakeDocker(self.folder / "state.json")
        status = fake.run(list(command[1:]))
        if self.state.get("interrupt") in self.state["changes"]:
            fake.state["interrupt"] = None
            (self.folder / "state.json").write_text(json.dumps(fake.state))
            raise KeyboardInterrupt
        return CompletedProcess(command, status, "\n".join(fake.out), "No such image" if status else "")

    @property
    def state(self) -> dict[str, Any]:
        """The state after the last command."""
        return json.loads((self.folder / "state.json").read_text())

    @property
    def changes(self) -> list[str]:
        """What was changed, in order; a stop that its removal follows is one change."""
        changes: list[str] = self.state["changes"]
        stopped = {each for each, after in pairwise(changes) if after == each.replace("stop ", "remove ")}
        return [each for each in changes if each.replace("remove ", "stop ") not in stopped or each in stopped]

    @property
    def states(self) -> dict[str, str]:
        """The state of each container."""
        return {each["Name"].removeprefix("/pairway-"): each["State"]["Status"] for each in self.state["containers"]}

    def roll(self, *names: str, dry_run: bool = False, **choices: Any) -> None:
        """Roll, with a clock that only waiting moves."""

        def sleep(seconds: float) -> None:
            self.now += seconds

        def say(text: str) -> None:
            self.lines += text.splitlines()

        project = self.docker.read_project()
        roller = Roller(self.docker, say, clock=lambda: self.now, sleep=sleep, **choices)
        roller.roll(project, select(project, names), dry_run=dry_run)


def fleet(de: int = 1, fr: int = 1, proxies: int = 1, **of_all: Any) -> dict[str, dict[str, Any]]:
    """Return the services of compose; the proxies have a range of ports."""
    ports = [{"published": "8000-8019"}]
    dependencies = {name: {"condition": "service_started"} for name in ("redis", "apiserver-de", "apiserver-fr")}
    return {
        "proxy": service("proxy", replicas=proxies, ports=ports, depends_on=dependencies, **of_all),
        "apiserver-de": service("apiserver-de", replicas=de, **of_all),
        "apiserver-fr": service("apiserver-fr", replicas=fr, **of_all),
        "redis": service("redis", image="redis:7"),
    }


def containers(*names: str, **of_all: Any) -> list[dict[str, Any]]:
    """Return containers of these names, all alike, and Redis's."""
    return [*(container(name, **of_all) for name in names), container("redis-1", image="redis:7")]


def replaced(service_name: str) -> list[str]:
    """Return the changes that replace a service's only container in place."""
    old, new = f"{service_name}-1", f"{service_name}-2"
    return [f"create {new}", f"stop {old}", f"start {new}", f"remove {old}"]
