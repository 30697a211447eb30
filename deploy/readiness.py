"""Readiness of one server, and of all: the monitor shows their states."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx
from pydantic import BaseModel, ValidationError

from shared.protocol.report import ReplicaReport

READINESS_POLL_SECONDS = 0.3
# A server that imports vLLM does not answer for seconds; the next poll asks again.
READINESS_POLL_TIMEOUT_SECONDS = 2.0


class ProxyPairHealth(BaseModel):
    """The part of a pair's health that the monitor needs."""

    ready: int


class ProxyHealth(BaseModel):
    """The part of ``GET /health`` that the monitor needs."""

    status: str
    pairs: dict[str, ProxyPairHealth]


def open_client() -> httpx.AsyncClient:
    """Return a client for servers of this machine."""
    # Proxies configured in the environment are for other hosts.
    return httpx.AsyncClient(timeout=READINESS_POLL_TIMEOUT_SECONDS, trust_env=False)


async def is_replica_ready(client: httpx.AsyncClient, url: str) -> bool:
    """Return whether all pairs of the API server are ready."""
    try:
        report = ReplicaReport.model_validate_json((await client.get(f"{url}/report")).content)
    except (httpx.HTTPError, ValidationError):
        return False
    return bool(report.pairs) and all(pair.ready for pair in report.pairs.values())


async def is_proxy_ready(client: httpx.AsyncClient, url: str) -> bool:
    """Return whether the proxy has probed its replicas and accepts requests."""
    try:
        return (await client.get(f"{url}/readyz")).is_success
    except httpx.HTTPError:
        return False


@dataclass(slots=True)
class ReadinessMonitor:
    """Monitor of all servers; ``say`` gets each change (name, message) once."""

    proxy_url: str
    replicas: Mapping[str, str]
    say: Callable[[str, str], None]
    reports: dict[str, ReplicaReport] = field(default_factory=dict[str, ReplicaReport], init=False)
    health: ProxyHealth | None = field(default=None, init=False)
    shown: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str], init=False)

    async def wait(self) -> list[str]:
        """Return the pairs once all are ready and the proxy knows it."""
        async with open_client() as client:
            while True:
                await asyncio.gather(self._poll_proxy(client), *(self._poll(client, name) for name in self.replicas))
                if not self.missing():
                    return sorted({pair for report in self.reports.values() for pair in report.pairs})
                await asyncio.sleep(READINESS_POLL_SECONDS)

    def missing(self) -> list[str]:
        """Return a sentence for each server or pair that is not ready."""
        missing: list[str] = []
        for name in self.replicas:
            report = self.reports.get(name)
            if report is None:
                missing.append(f"{name} does not answer yet")
                continue
            for pair, pair_report in report.pairs.items():
                if not pair_report.ready:
                    missing.append(f"{name}: {pair} is not ready: {pair_report.why or report.state}")
                elif self.health and not (pair in self.health.pairs and self.health.pairs[pair].ready):
                    missing.append(f"proxy: {pair} is ready on {name}, the proxy has not seen it yet")
        if self.health is None:
            missing.append("proxy does not answer yet")
        return missing

    async def _poll(self, client: httpx.AsyncClient, name: str) -> None:
        try:
            response = await client.get(f"{self.replicas[name]}/report")
            report = ReplicaReport.model_validate_json(response.content)
        except (httpx.HTTPError, ValidationError):
            return
        self.reports[name] = report
        self._say_if_new(name, "state", report.state)
        for pair, pair_report in report.pairs.items():
            self._say_if_new(
                name,
                pair,
                f"{pair} ready" if pair_report.ready else f"{pair} not ready: {pair_report.why or report.state}",
            )

    async def _poll_proxy(self, client: httpx.AsyncClient) -> None:
        try:
            response = await client.get(f"{self.proxy_url}/health")
            self.health = ProxyHealth.model_validate_json(response.content)
        except (httpx.HTTPError, ValidationError):
            return
        self._say_if_new("proxy", "status", f"up at {self.proxy_url}, health: {self.health.status}")

    def _say_if_new(self, name: str, subject: str, message: str) -> None:
        if self.shown.get((name, subject)) != message:
            self.shown[name, subject] = message
            self.say(name, message)
