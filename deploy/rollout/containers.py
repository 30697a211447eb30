"""A service as it should be, its containers as they are, and both of a whole project."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

# Docker's: a container's host name is the start of its id.
HOST_NAME_CHARS = 12
# What a service does; others are never rolled.
Kind = Literal["apiserver", "proxy", "other"]
_FRACTION = re.compile(r"\.\d+")


@dataclass(frozen=True, slots=True)
class Service:
    """A service of docker compose, as its files and settings say.

    ``image_id`` is None if the image is missing. ``ports`` are the host ports that one container of it needs.
    """

    name: str
    kind: Kind
    config_hash: str
    image: str
    image_id: str | None
    replicas: int
    catalog: Path | None = None
    catalog_changed_at: float = 0.0
    ports: tuple[int, ...] = ()
    has_device: bool = False
    depends_on: tuple[str, ...] = ()
    has_keys: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a service; ``started_at`` is Unix time."""

    id: str
    name: str
    service: str
    number: int
    config_hash: str
    image_id: str
    state: str
    health: str
    exit_code: int
    restarts: int
    started_at: float

    @property
    def host_name(self) -> str:
        """Its host name, with which its server's id starts."""
        return self.id[:HOST_NAME_CHARS]

    @property
    def is_running(self) -> bool:
        """Whether it runs, or is about to run again."""
        return self.state in {"running", "restarting", "paused"}

    def why_stale(self, service: Service) -> str | None:
        """Return the reason why it is not as its service should be, or None."""
        if self.image_id != service.image_id:
            return f"{service.image} is another image"
        if self.config_hash != service.config_hash:
            return "its settings changed"
        if service.catalog is not None and self.started_at < service.catalog_changed_at:
            return f"{service.catalog} changed"
        return None


@dataclass(slots=True)
class Project:
    """All services with their containers, at one moment."""

    name: str
    services: list[Service]
    containers: list[Container] = field(default_factory=list[Container])

    def of(self, service: Service) -> list[Container]:
        """Return a service's containers."""
        return [each for each in self.containers if each.service == service.name]

    def of_kind(self, kind: Kind) -> list[Service]:
        """Return the services of a kind."""
        return [each for each in self.services if each.kind is kind]

    @property
    def running_proxies(self) -> list[Container]:
        """The running containers of all proxies."""
        found = [each for service in self.of_kind("proxy") for each in self.of(service)]
        return [each for each in found if each.state == "running"]

    @property
    def has_proxies(self) -> bool:
        """Whether it should have proxies; some projects have API servers alone."""
        return any(each.replicas for each in self.of_kind("proxy"))


def parse_service(
    name: str, config: Mapping[str, Any], config_hash: str, image_id: str | None, changed_at: Callable[[Path], float]
) -> Service:
    """Return a service from the JSON of `docker compose config`; ``changed_at`` reads a file's time."""
    environment: Mapping[str, str | None] = config.get("environment") or {}
    kind = "apiserver" if "APISERVER_HOST" in environment else "proxy" if "PROXY_HOST" in environment else "other"
    deploy = _mapping(config.get("deploy"))
    replicas = deploy.get("replicas")
    catalog = mounted_file(environment.get("APISERVER_CATALOG") or "", config.get("volumes") or ())
    reservations = _mapping(_mapping(deploy.get("resources")).get("reservations"))
    return Service(
        name,
        kind,
        config_hash,
        config.get("image", ""),
        image_id,
        1 if replicas is None else int(replicas),
        catalog,
        0.0 if catalog is None else changed_at(catalog),
        tuple(port_count(str(each["published"])) for each in config.get("ports") or () if each.get("published")),
        bool(reservations.get("devices")),
        tuple(_mapping(config.get("depends_on"))),
        kind == "proxy" and environment.get("PROXY_KEYS") not in {None, "", "off"},
    )


def mounted_file(path: str, volumes: Any) -> Path | None:
    """Return the host's path of a file in a mounted folder; None for one of the image."""
    for volume in volumes:
        target = str(volume.get("target", "")).rstrip("/") + "/"
        if volume.get("type") == "bind" and path.startswith(target):
            return Path(volume["source"]) / path.removeprefix(target)
    return None


def port_count(published: str) -> int:
    """Return the number of host ports in ``8000`` or ``8000-8019``."""
    first, _, last = published.partition("-")
    return int(last or first) - int(first) + 1


def parse_container(inspected: Mapping[str, Any]) -> Container:
    """Return a container from the JSON of `docker inspect`."""
    labels: Mapping[str, str] = inspected["Config"]["Labels"]
    state: Mapping[str, Any] = inspected["State"]
    return Container(
        inspected["Id"],
        inspected["Name"].lstrip("/"),
        labels["com.docker.compose.service"],
        int(labels.get("com.docker.compose.container-number", "0")),
        labels.get("com.docker.compose.config-hash", ""),
        inspected["Image"],
        state["Status"],
        _mapping(state.get("Health")).get("Status", ""),
        int(state.get("ExitCode", 0)),
        int(inspected.get("RestartCount", 0)),
        # Nanoseconds are more than datetime reads, and whole seconds are enough.
        datetime.fromisoformat(_FRACTION.sub("", state["StartedAt"])).timestamp(),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value or {}
