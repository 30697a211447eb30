"""A service as it should be, and its containers as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

# Paths of catalogs in the image belong to the image.
CATALOG = "APISERVER_CATALOG"
_FRACTION = re.compile(r"\.\d+")


class Kind(StrEnum):
    """What a service does, which is the order of a roll; OTHER is never rolled."""

    API_SERVER = "API server"
    PROXY = "proxy"
    OTHER = "other"


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

    @property
    def can_double(self) -> bool:
        """Whether one container more can run beside the others."""
        return not self.has_device and all(count > self.replicas for count in self.ports)


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


def parse_service(
    name: str, config: Mapping[str, Any], config_hash: str, image_id: str | None, changed_at: Callable[[Path], float]
) -> Service:
    """Return a service from the JSON of `docker compose config`; ``changed_at`` reads a file's time."""
    environment: Mapping[str, str | None] = config.get("environment") or {}
    if "APISERVER_HOST" in environment:
        kind = Kind.API_SERVER
    elif "PROXY_HOST" in environment:
        kind = Kind.PROXY
    else:
        kind = Kind.OTHER
    deploy = _mapping(config.get("deploy"))
    replicas = deploy.get("replicas")
    catalog = mounted_file(environment.get(CATALOG) or "", config.get("volumes") or ())
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
        kind is Kind.PROXY and environment.get("PROXY_KEYS") not in {None, "", "off"},
    )


def mounted_file(path: str, volumes: Any) -> Path | None:
    """Return the host's path of a file in a mounted folder, or None."""
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
