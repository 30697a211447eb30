"""A real fleet: Redis, an API server for en-de, one for en-fr (real vLLM), and a proxy, each a process."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.processes import ROOT, Server, free_port, python_server, redis_server
from tests.support.waiting import wait_until

# Two API servers import vLLM and start their engines at once on two cores.
READY_WITHIN = 400.0
FLEET_MARK = "PAIRWAY_FLEET_TEST"


@dataclass
class Fleet:
    """The processes, and a client of the proxy."""

    de: Server
    fr: Server
    proxy: Server
    client: httpx.AsyncClient
    # In the environment of the API servers, and so of their EngineCores, orphans included.
    mark: str

    async def translate(self, text: str | list[str], source: str | None, target: str) -> httpx.Response:
        body = {"text": text, "target_lang": target} | ({} if source is None else {"source_lang": source})
        return await self.client.post("/translate", json=body)

    async def health(self) -> dict[str, Any]:
        return (await self.client.get("/health")).json()

    async def ready(self, pair: str) -> int:
        found = (await self.health())["pairs"].get(pair)
        return 0 if found is None else found["ready"]

    async def until_whole(self, within: float = READY_WITHIN) -> None:
        """Wait until everything is as it was at first."""

        async def whole() -> bool:
            health = await self.health()
            pairs = health["pairs"]
            expected = {"en-de": 1, "de-en": 1, "en-fr": 1, "fr-en": 1}
            return health["status"] == "ok" and {pair: pairs[pair]["ready"] for pair in pairs} == expected

        await wait_until(whole, within, f"the whole fleet ready\n{self.logs()}")

    def logs(self) -> str:
        servers = {"proxy": self.proxy, "de": self.de, "fr": self.fr}
        return "\n".join(f"--- {name}\n{server.tail(8)}" for name, server in servers.items())


def api_server(model: str, port: int, folder: Path, name: str, mark: str) -> Server:
    environment = {
        "APISERVER_CATALOG": str(ROOT / "deploy/models/demo.yaml"),
        "APISERVER_MODELS": model,
        "APISERVER_PORT": str(port),
        "APISERVER_DRAIN_SECONDS": "0",
        "APISERVER_LOG_FORMAT": "text",
        FLEET_MARK: mark,
    }
    return python_server("apiserver", folder, environment, name)


@pytest.fixture(scope="module")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    redis_port, proxy_port = free_port(), free_port()
    ports = [free_port() for _ in range(2)]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    environment = {
        "PROXY_PORT": str(proxy_port),
        "PROXY_REPLICAS": ",".join(urls),
        "PROXY_REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
        "PROXY_DRAIN_SECONDS": "0",
        "PROXY_LOG_FORMAT": "text",
    }
    redis = redis_server(redis_port, folder)
    mark = uuid.uuid4().hex
    de = api_server("en-de", ports[0], folder, "de", mark)
    fr = api_server("en-fr", ports[1], folder, "fr", mark)
    proxy = python_server("proxy", folder, environment, "proxy")
    servers = (redis, de, fr, proxy)
    for server in servers:
        server.start()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{proxy_port}", timeout=30, trust_env=False) as client:
        fleet = Fleet(de, fr, proxy, client, mark)
        try:

            async def answers() -> bool:
                try:
                    return (await client.get("/readyz")).is_success
                except httpx.TransportError:
                    return False

            await wait_until(answers, 60, "the proxy")
            await fleet.until_whole()
            yield fleet
        finally:
            await asyncio.gather(*(asyncio.to_thread(server.stop) for server in reversed(servers)))
