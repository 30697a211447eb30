"""What the started servers say about themselves, told as it changes, until every language pair is ready."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

POLL_SECONDS = 0.3
# A server that imports vLLM holds its interpreter for seconds; the next poll asks again.
POLL_TIMEOUT_SECONDS = 2.0


class PairReport(BaseModel):
    """What we read of a pair in an API server's report."""

    ready: bool
    why: str | None = None


class Report(BaseModel):
    """What we read of ``GET /report``."""

    state: str
    pairs: dict[str, PairReport]


class PairHealth(BaseModel):
    """What we read of a pair in the proxy's health."""

    ready: int


class Health(BaseModel):
    """What we read of ``GET /health``."""

    status: str
    pairs: dict[str, PairHealth]


@dataclass(slots=True)
class Readiness:
    """Follows the API servers (name → URL) and the proxy; ``say`` gets each change as (name, what)."""

    proxy_url: str
    replicas: Mapping[str, str]
    say: Callable[[str, str], None]
    reports: dict[str, Report] = field(default_factory=dict[str, Report], init=False)
    health: Health | None = field(default=None, init=False)
    said: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str], init=False)

    async def wait(self) -> list[str]:
        """Poll until every pair of every API server is ready and known to the proxy so; return the pairs."""
        # The environment's proxies are for other hosts than our own.
        async with httpx.AsyncClient(timeout=POLL_TIMEOUT_SECONDS, trust_env=False) as client:
            while True:
                await asyncio.gather(self._poll_proxy(client), *(self._poll(client, name) for name in self.replicas))
                if not self.missing():
                    return sorted({pair for report in self.reports.values() for pair in report.pairs})
                await asyncio.sleep(POLL_SECONDS)

    def missing(self) -> list[str]:
        """Say who is not ready, and why; nothing when all are."""
        missing: list[str] = []
        for name in self.replicas:
            report = self.reports.get(name)
            if report is None:
                missing.append(f"{name} does not answer yet")
                continue
            for pair, told in report.pairs.items():
                if not told.ready:
                    missing.append(f"{name}: {pair} is not ready: {told.why or report.state}")
                elif self.health and not (pair in self.health.pairs and self.health.pairs[pair].ready):
                    missing.append(f"proxy: {pair} is ready on {name}, the proxy has not seen it yet")
        if self.health is None:
            missing.append("proxy does not answer yet")
        return missing

    async def _poll(self, client: httpx.AsyncClient, name: str) -> None:
        try:
            answer = await client.get(f"{self.replicas[name]}/report")
            report = Report.model_validate_json(answer.content)
        except (httpx.HTTPError, ValidationError):
            return
        self.reports[name] = report
        self._tell(name, "state", report.state)
        for pair, told in report.pairs.items():
            self._tell(name, pair, f"{pair} ready" if told.ready else f"{pair} not ready: {told.why or report.state}")

    async def _poll_proxy(self, client: httpx.AsyncClient) -> None:
        try:
            answer = await client.get(f"{self.proxy_url}/health")
            self.health = Health.model_validate_json(answer.content)
        except (httpx.HTTPError, ValidationError):
            return
        self._tell("proxy", "status", f"up at {self.proxy_url}, health: {self.health.status}")

    def _tell(self, name: str, subject: str, what: str) -> None:
        """Say what is new."""
        if self.said.get((name, subject)) != what:
            self.said[name, subject] = what
            self.say(name, what)
