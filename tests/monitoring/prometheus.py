"""A real Prometheus with our rules, all of whose times are shortened by one factor.

Scrapes, evaluations, ranges, offsets and ``for:`` are a twentieth, so that what takes ten minutes takes half a minute. The
tests shorten what they change by the same factor: a server that restarts is away for at most ``shortened_seconds(60)``.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from tests.conftest import NO_AUTHORITIES
from tests.monitoring.install import program
from tests.monitoring.rules import FILES
from tests.support.processes import Server, free_port
from tests.support.waiting import wait_until

FACTOR: Final = 20
# Prometheus' own default of 15 seconds in most installations; what the rules are written for.
SCRAPE: Final = "15s"
# How long a series without a new sample counts, which is Prometheus' default.
LOOKBACK: Final = "5m"
_MILLISECONDS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"(?<=\[)\d+[smhd](?=\])|(?<=offset )\d+[smhd]")
START_SECONDS: Final = 60.0


def shortened(duration: str) -> str:
    """Return a duration of one unit, divided by the factor."""
    return f"{int(duration[:-1]) * _MILLISECONDS[duration[-1]] // FACTOR}ms"


def shortened_seconds(seconds: float) -> float:
    """Return a number of seconds, divided by the factor."""
    return seconds / FACTOR


def shortened_expression(expression: str) -> str:
    """Return an expression with its ranges and offsets shortened."""
    return _DURATION.sub(lambda found: shortened(found[0]), expression)


def shortened_rules(path: Path) -> dict[str, Any]:
    """Return a file of rules with all its times shortened."""
    rules = yaml.safe_load(path.read_text())
    for group in rules["groups"]:
        if "interval" in group:
            group["interval"] = shortened(group["interval"])
        for rule in group["rules"]:
            rule["expr"] = shortened_expression(rule["expr"])
            if "for" in rule:
                rule["for"] = shortened(rule["for"])
    return rules


class Prometheus:
    """A running Prometheus; its targets are read from files, as those of a service that changes are."""

    def __init__(self, folder: Path, client: httpx.AsyncClient) -> None:
        self._folder = folder
        self._client = client

    def scrape(self, job: str, addresses: Iterable[str]) -> None:
        """Let it scrape these addresses for a job from now on."""
        new = self._folder / f"{job}.new"
        new.write_text(json.dumps([{"targets": sorted(addresses)}]))
        new.rename(self._folder / f"{job}.json")

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the result of an expression."""
        answer = await self._client.get("/api/v1/query", params={"query": expression})
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]["result"]

    async def firing(self) -> set[str]:
        """Return the alerts that fire now."""
        found = await self.query('ALERTS{alertstate="firing"}')
        return {each["metric"]["alertname"] for each in found}

    async def fired(self) -> dict[str, str]:
        """Return all alerts that have fired so far, each with its severity."""
        found = await self.query('count_over_time(ALERTS{alertstate="firing"}[1h])')
        return {each["metric"]["alertname"]: each["metric"]["severity"] for each in found}

    async def until_fires(self, name: str, within: float) -> None:
        """Wait until an alert fires."""

        async def fires() -> bool:
            return name in await self.firing()

        await wait_until(fires, within, f"{name} fires")


@asynccontextmanager
async def running_prometheus(
    folder: Path, targets: Mapping[str, Iterable[str]], token: str = ""
) -> AsyncGenerator[Prometheus]:
    """Run Prometheus with the shortened rules while the block lasts; ``targets`` by job; it shows them the token."""
    for path in FILES:
        (folder / path.name).write_text(yaml.safe_dump(shortened_rules(path)))
    shown = {"authorization": {"credentials": token}} if token else {}
    jobs = [
        {"job_name": job, "file_sd_configs": [{"files": [str(folder / f"{job}.json")]}], **shown} for job in targets
    ]
    settings = {"scrape_interval": shortened(SCRAPE), "scrape_timeout": shortened(SCRAPE)}
    config = {
        "global": {**settings, "evaluation_interval": shortened(SCRAPE)},
        "rule_files": [str(folder / path.name) for path in FILES],
        "scrape_configs": jobs,
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [
        str(program("prometheus")),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--query.lookback-delta={shortened(LOOKBACK)}",
    ]
    server = Server(command, folder / "prometheus.log")
    url = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=NO_AUTHORITIES) as client:
        prometheus = Prometheus(folder, client)
        for job, addresses in targets.items():
            prometheus.scrape(job, addresses)
        server.start()
        try:

            async def is_up() -> bool:
                try:
                    return (await client.get("/-/ready")).status_code == 200
                except httpx.TransportError:
                    return False

            await wait_until(is_up, START_SECONDS, f"Prometheus\n{server.tail()}")
            yield prometheus
        finally:
            server.stop()
