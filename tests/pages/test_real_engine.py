"""The page / against real processes: Redis, a proxy, an API server with a demo model in the real engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.pages.tabs import Tab
from tests.pages.test_translate_page import OUTPUT, TEXT, begin
from tests.support.processes import ROOT, Server, free_port, python_server, redis_server
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.pages, pytest.mark.engine, pytest.mark.xdist_group("pages")]

# In a fresh checkout the engine compiles first.
READY_WITHIN: Final = 400.0
# Many sentences, no two of them equal: equal ones would be translated once.
LONG_TEXT: Final = " ".join(f"On day {number} we walked {number * 7} miles to the old house." for number in range(400))


@dataclass
class Fleet:
    """The processes, their addresses, and a client."""

    url: str
    api_server_url: str
    api_server: Server
    http: httpx.AsyncClient

    async def is_ready(self) -> bool:
        """Say whether both pairs are ready."""
        try:
            pairs = (await self.http.get(f"{self.url}/health")).json()["pairs"]
        except httpx.TransportError:
            return False
        return {pair for pair in pairs if pairs[pair]["ready"]} >= {"en-de", "de-en"}

    async def cancelled(self) -> float:
        """Return how many requests the API server gave up because their client had gone."""
        text = (await self.http.get(f"{self.api_server_url}/metrics")).text
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        return sum(each.value for each in samples if each.labels.get("outcome") == "client-gone")

    async def models(self) -> list[dict[str, Any]]:
        """Return what the engine says of its models."""
        report = (await self.http.get(f"{self.api_server_url}/report")).json()
        return list(report["models"].values())

    async def is_idle(self) -> bool:
        """Say whether the engine has nothing to do."""
        return all(each["running"] == each["waiting"] == 0 for each in await self.models())


@pytest.fixture(scope="module")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Fleet]:
    folder = tmp_path_factory.mktemp("pages")
    redis_port, proxy_port, port = free_port(), free_port(), free_port()
    redis = redis_server(redis_port, folder)
    catalog = {"APISERVER_CATALOG": str(ROOT / "deploy/models/demo.yaml"), "APISERVER_MODELS": "en-de"}
    usual = {"APISERVER_PORT": str(port), "APISERVER_DRAIN_SECONDS": "0", "APISERVER_LOG_FORMAT": "text"}
    api_server = python_server("apiserver", folder, {**catalog, **usual}, "apiserver")
    environment = {
        "PROXY_PORT": str(proxy_port),
        "PROXY_REPLICAS": f"http://127.0.0.1:{port}",
        "PROXY_REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
        "PROXY_DRAIN_SECONDS": "0",
        "PROXY_LOG_FORMAT": "text",
    }
    proxy = python_server("proxy", folder, environment, "proxy")
    servers = (redis, api_server, proxy)
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        one = Fleet(f"http://127.0.0.1:{proxy_port}", f"http://127.0.0.1:{port}", api_server, client)
        try:
            for server in servers:
                server.start()
            await wait_until(one.is_ready, READY_WITHIN, f"both pairs\n{api_server.tail(8)}", pause=0.2)
            yield one
        finally:
            await asyncio.gather(*(asyncio.to_thread(server.stop) for server in reversed(servers)))


async def test_typed_text_is_translated_by_the_demo_model(tab: Tab, fleet: Fleet) -> None:
    await begin(tab, fleet.url)
    await tab.type(TEXT, "The house is")
    await tab.sees(OUTPUT, "Haus")
    before = await tab.text(OUTPUT)
    await tab.type(TEXT, " old and the water is cold.")
    await tab.sees(OUTPUT, "Wasser")
    assert await tab.text(OUTPUT) != before


async def test_given_up_text_is_aborted_at_the_engine(tab: Tab, fleet: Fleet) -> None:
    before = await fleet.cancelled()
    await begin(tab, fleet.url)
    await tab.click(TEXT)
    await tab.paste(LONG_TEXT)

    async def busy() -> bool:
        return not await fleet.is_idle()

    await wait_until(busy, 60, "the engine works")
    await tab.click("#clear")

    async def cancelled() -> bool:
        return await fleet.cancelled() > before

    await wait_until(cancelled, 60, "the API server noticed")
    await wait_until(fleet.is_idle, 60, "the engine is idle")


async def test_killed_api_server_is_shown_with_its_return(tab: Tab, fleet: Fleet) -> None:
    await tab.open(f"{fleet.url}/status")
    await tab.sees("table.replicas", "ready")
    fleet.api_server.kill()
    await tab.sees("table.replicas", "down")
    await tab.sees(".issues", "No replica is ready for")
    await tab.sees("ol.events", f"{fleet.api_server_url} went down")
    fleet.api_server.start()
    await wait_until(fleet.is_ready, READY_WITHIN, f"its return\n{fleet.api_server.tail(8)}", pause=0.2)
    await tab.sees("ol.events", f"{fleet.api_server_url} came back")
