"""The servers and ports of a launch, checked before the start."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, Field, ValidationError

LOOPBACK = "127.0.0.1"
HIGHEST_PORT = 65535


class LaunchPlanError(Exception):
    """The plan cannot work; the message says what would be right."""


class CatalogModel(BaseModel):
    """A model's folder, relative to the catalog, or Hugging Face name."""

    path: str


class CatalogSummary(BaseModel):
    """The launcher's part of models.yaml; the API server checks the rest."""

    models: dict[str, CatalogModel] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """One proxy, API servers on ports from ``apiserver_port`` up, and Prometheus if it has a port."""

    host: str
    port: int
    apiserver_port: int
    catalog: Path
    prometheus_port: int | None = None

    @property
    def proxy_url(self) -> str:
        """The proxy's URL on this machine."""
        host = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(self.host, self.host)  # noqa: S104 - read, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def read_models(self) -> dict[str, int]:
        """Return each model's name and its API server's port; raises LaunchPlanError."""
        try:
            catalog = CatalogSummary.model_validate(yaml.safe_load(self.catalog.read_text()))
        except OSError as error:
            raise LaunchPlanError(
                f"the catalog {self.catalog} cannot be read ({error.strerror}): choose another with --catalog"
            ) from error
        except yaml.YAMLError as error:
            raise LaunchPlanError(f"the catalog {self.catalog} is not YAML: {error}") from error
        except ValidationError as error:
            errors = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the file'}: {e['msg']}" for e in error.errors())
            raise LaunchPlanError(
                f"the catalog {self.catalog} is not a list of models ({errors}). "
                "An example: models: {en-de: {path: ../../models/en-de, pairs: [en-de]}}"
            ) from error
        for name, model in catalog.models.items():
            folder = (self.catalog.parent / model.path).resolve()
            if model.path.startswith((".", "/")) and not (folder / "config.json").is_file():
                raise LaunchPlanError(
                    f"the model {name} of {self.catalog} has no folder {folder} with a config.json: correct its path, "
                    f"or put the model into that folder"
                )
        return {name: self.apiserver_port + n for n, name in enumerate(catalog.models)}

    def check_ports(self) -> None:
        """Raise LaunchPlanError for the first port that cannot be used."""
        purposes: dict[int, str] = {}
        for host, port, purpose, remedy in self._ports():
            if port in purposes:
                raise LaunchPlanError(f"port {port} is wanted for {purposes[port]} and for {purpose}: {remedy}")
            purposes[port] = purpose
            check_port(host, port, purpose, remedy)

    def _ports(self) -> Iterator[tuple[str, int, str, str]]:
        """Yield host, port, purpose, and how to choose another port."""
        yield self.host, self.port, "the proxy", "choose another with `make up PORT=…` (--port)"
        for name, port in self.read_models().items():
            remedy = "choose others with `make up APISERVER_PORT=…` (--apiserver-port)"
            yield LOOPBACK, port, f"the API server of {name}", remedy
        if self.prometheus_port is not None:
            yield LOOPBACK, self.prometheus_port, "Prometheus", "choose another with `make up PROMETHEUS_PORT=…`"


def check_port(host: str, port: int, purpose: str, remedy: str) -> None:
    """Raise LaunchPlanError if a server cannot listen on the port now."""
    if not 1 <= port <= HIGHEST_PORT:
        raise LaunchPlanError(f"port {port} for {purpose} does not exist, ports are 1 to {HIGHEST_PORT}: {remedy}")
    try:
        listen_once(host, port)
    except socket.gaierror as error:
        raise LaunchPlanError(
            f"the address {host} for {purpose} is unknown ({error.strerror}): 127.0.0.1 is this machine"
        ) from error
    except OSError as error:
        problem = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
        raise LaunchPlanError(f"port {port} on {host}, wanted for {purpose}, {problem}: {remedy}") from error


def is_port_free(host: str, port: int) -> bool:
    """Return whether a server can listen on the port now."""
    try:
        listen_once(host, port)
    except OSError:
        return False
    return True


def listen_once(host: str, port: int) -> None:
    """Listen on the port for a moment; raises OSError if a server could not."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        # As the servers do, so that the kernel's remains of old connections do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        probe.listen()
