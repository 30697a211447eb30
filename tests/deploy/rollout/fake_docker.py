"""A docker program for tests: a project in a JSON file, and docker's answers about it.

``broken`` images end with exit code 78; containers of others are healthy at once. Proxies see all healthy API servers.
As docker compose's, its ``up`` starts stopped containers too, unless it gets ``--no-start``. A port has one container.
Every command that changes something is noted in ``changes``.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

STARTED: Final = "2026-11-22T10:00:00.123456789Z"
PROJECT: Final = "pairway"


def service(
    name: str, *, replicas: int = 1, image: str = "new", config_hash: str = "h1", **more: Any
) -> dict[str, Any]:
    """Return a service's configuration; its pairs are by its name."""
    prefix = "PROXY" if name == "proxy" else "APISERVER" if name.startswith("apiserver") else "REDIS"
    environment = {f"{prefix}_HOST": "0.0.0.0", **more.pop("environment", {})}
    return {"image": image, "hash": config_hash, "environment": environment, "deploy": {"replicas": replicas}, **more}


def container(
    name: str, *, image: str = "new", config_hash: str = "h1", state: str = "running", health: str = "healthy"
) -> dict[str, Any]:
    """Return a container named SERVICE-NUMBER."""
    service_name, _, number = name.rpartition("-")
    return {
        "Id": f"{number}0{service_name.removeprefix('apiserver-'):a<62}".replace("-", "0"),
        "Name": f"/{PROJECT}-{name}",
        "Image": f"sha256:{image}",
        "Config": {
            "Labels": {
                "com.docker.compose.service": service_name,
                "com.docker.compose.container-number": number,
                "com.docker.compose.config-hash": config_hash,
            }
        },
        "State": {"Status": state, "Health": {"Status": health}, "ExitCode": 0, "StartedAt": STARTED},
        "RestartCount": 0,
    }


class FakeDocker:
    """The project's state, and the commands on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state: dict[str, Any] = json.loads(path.read_text())
        self.out: list[str] = []

    def run(self, arguments: list[str]) -> int:
        """Answer one command, with its output in ``out``."""
        if arguments[0] == "compose":
            return self._compose(arguments[1:])
        return int(getattr(self, f"_{arguments[0]}")(arguments[1:]))

    def _compose(self, arguments: list[str]) -> int:
        services: dict[str, Any] = self.state["services"]
        if "run" in arguments:
            self._note("check " + " ".join(arguments))
            return int(self.state.get("check", 0))
        if "--format" in arguments:
            self.out.append(json.dumps({"name": PROJECT, "services": services}))
        elif "--hash" in arguments:
            self.out.append("\n".join(f"{name} {each['hash']}" for name, each in services.items()))
        elif "up" in arguments:
            scales = [after for option, after in pairwise(arguments) if option == "--scale"]
            return max(
                self._scale(name, int(count), arguments) for name, _, count in (each.partition("=") for each in scales)
            )
        return 0

    def _scale(self, name: str, scale: int, arguments: list[str]) -> int:
        config, containers = self.state["services"][name], self.state["containers"]
        numbers = [int(each["Name"].rpartition("-")[2]) for each in self._present(name)]
        for number in range(max(numbers, default=0) + 1, max(numbers, default=0) + 1 + scale - len(numbers)):
            containers.append(
                container(f"{name}-{number}", image=config["image"], config_hash=config["hash"], state="created")
            )
            self._note(f"create {name}-{number}" if "--no-start" in arguments else "")
        if "--no-start" in arguments:
            return 0
        return max((self._start([each["Id"]]) for each in self._present(name)), default=0)

    def _present(self, service_name: str) -> list[dict[str, Any]]:
        labels = "com.docker.compose.service"
        return [each for each in self.state["containers"] if each["Config"]["Labels"][labels] == service_name]

    def _start(self, arguments: list[str]) -> int:
        """Start a container, unless it runs already or its port is in use."""
        found = self._find(arguments[-1])
        if found["State"]["Status"] in {"running", "restarting"}:
            return 0
        name = found["Name"].removeprefix(f"/{PROJECT}-")
        service_name = name.rpartition("-")[0]
        others = [each for each in self._present(service_name) if each["State"]["Status"] == "running"]
        if others and any(
            each["published"] == "8000" for each in self.state["services"][service_name].get("ports", ())
        ):
            return 1
        if found["Image"].removeprefix("sha256:") in self.state.get("broken", ()):
            found["State"] |= {"Status": "restarting", "ExitCode": 78, "Health": {"Status": "starting"}}
        else:
            found["State"] |= {"Status": "running", "Health": {"Status": self.state.get("health", "healthy")}}
        self._note(f"start {name}")
        return 0

    def _ps(self, arguments: list[str]) -> int:
        del arguments
        self.out.append("\n".join(each["Id"] for each in self.state["containers"]))
        return 0

    def _inspect(self, arguments: list[str]) -> int:
        """Describe what there is; as docker's, it fails for what has just been removed, after describing the others."""
        ids = arguments[arguments.index("container") + 1 :]
        removed = self.state.get("removed", ())
        found = [each for each in self.state["containers"] if each["Id"] in ids and each["Id"] not in removed]
        self.out.append(json.dumps(found))
        return 0 if len(found) == len(ids) else 1

    def _image(self, arguments: list[str]) -> int:
        if arguments[-1] in self.state.get("missing", ()):
            return 1
        self.out.append(f"sha256:{arguments[-1]}")
        return 0

    def _stop(self, arguments: list[str]) -> int:
        found = self._find(arguments[-1])
        found["State"] |= {"Status": "exited"}
        self._note(f"stop {found['Name'].removeprefix(f'/{PROJECT}-')}")
        return 0

    def _rm(self, arguments: list[str]) -> int:
        found = self._find(arguments[-1])
        self.state["containers"].remove(found)
        self._note(f"remove {found['Name'].removeprefix(f'/{PROJECT}-')}")
        return 0

    def _logs(self, arguments: list[str]) -> int:
        self.out.append(f"apiserver: catalog of {self._find(arguments[-1])['Name']} is wrong")
        return 0

    def _stats(self, arguments: list[str]) -> int:
        del arguments
        self.out.append(f"{self.state.get('used', '1GiB')} / 4GiB")
        return 0

    def _exec(self, arguments: list[str]) -> int:
        if "/proc/meminfo" in arguments:
            self.out.append(f"MemTotal: 1 kB\nMemAvailable: {self.state.get('available_kb', 8_000_000)} kB")
        elif "expect" in arguments:
            if arguments[-1].partition("=")[0] in self.state.get("unnamed", ()):
                return 1
            self._note(" ".join(arguments[arguments.index("expect") :]))
        elif self._find(arguments[0])["Image"].removeprefix("sha256:") in self.state.get("silent", ()):
            return 1
        else:
            servers = [each for each in self.state["containers"] if "apiserver" in each["Name"]]
            blind = self._find(arguments[0])["Image"].removeprefix("sha256:") in self.state.get("blind", ())
            replicas = [] if blind else [self._replica(each) for each in servers if _runs(each)]
            health: dict[str, Any] = {"replicas": replicas, "redis": {"up": True}}
            self.out.append(json.dumps(health | {"accepts": True} | self.state.get("answer", {})))
        return 0

    def _replica(self, each: dict[str, Any]) -> dict[str, Any]:
        name = each["Config"]["Labels"]["com.docker.compose.service"]
        pairs = self.state.get("pairs", {}).get(name, [name] if name.startswith("apiserver") else [])
        is_ready = each["State"]["Health"]["Status"] == "healthy"
        drained = each["Name"].removeprefix(f"/{PROJECT}-") in self.state.get("drained", ())
        is_served = is_ready and not drained
        return {
            "replica_id": f"{each['Id'][:12]}-0123456789ab",
            "state": "draining" if drained else "ready" if is_ready else "starting",
            "why": "drained by an operator" if drained else None if is_ready else "its engine is dead",
            "pairs": {pair: {"ready": is_served, "why": None if is_served else "no engine"} for pair in pairs},
        }

    def _find(self, identity: str) -> dict[str, Any]:
        return next(each for each in self.state["containers"] if each["Id"] == identity)

    def _note(self, change: str) -> None:
        if change:
            self.state["changes"].append(change)
        self.path.write_text(json.dumps(self.state))


def _runs(each: dict[str, Any]) -> bool:
    return each["State"]["Status"] == "running"


if __name__ == "__main__":
    fake = FakeDocker(Path(sys.argv[1]))
    status = fake.run(sys.argv[2:])
    sys.stdout.write("\n".join(fake.out))
    sys.exit(status)
