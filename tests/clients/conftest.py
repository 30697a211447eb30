"""A real fleet for real clients: Redis, an API server with two demo models, and two proxies, one with keys, one without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import psutil
import pytest

from tests.clients.client_programs import Outcomes, run_program
from tests.support.processes import ROOT, Server, free_port, python_server, redis_server
from tests.support.waiting import wait_until

# Two engines start at once on two cores; in a fresh checkout they compile first.
READY_WITHIN: Final = 400.0
PAIRS: Final = {"en-de", "de-en", "en-fr", "fr-en"}
OPERATOR_TOKEN: Final = "operator-token-of-the-clients"
# A minute or a month may end between two calls, so programs repeat them until one is refused.
GRANTS: Final[dict[str, dict[str, Any]]] = {
    "good": {},
    "quota": {"chars_per_month": 50},
    "rate": {"requests_per_minute": 1},
    "revoked": {},
    "en-de only": {"pairs": ["en-de", "de-en"]},
}
# A stopped engine must not be restarted: a test stops it on purpose, as long as a slow answer takes.
PATIENT: Final = {"APISERVER_STALL_SECONDS": "600", "APISERVER_CANARY_TIMEOUT": "600"}


@dataclass
class ClientFleet:
    """The processes, the proxies' addresses, the keys by kind, and a client of the proxy with keys."""

    url: str
    open_url: str
    keys: dict[str, str]
    http: httpx.AsyncClient
    api_server: Server
    api_server_url: str
    redis_url: str
    proxy: Server
    folder: Path

    async def run(self, script: str, lock: str = "clients", **more: str) -> Outcomes:
        """Return the outcomes of a client's program, which gets the address and the keys."""
        return await run_program(script, self.folder, {"url": self.url, **self.keys, **more}, lock)

    def engines(self) -> list[psutil.Process]:
        """Return the processes of vLLM's engines."""
        return self.api_server.children("EngineCore")

    async def pairs(self, url: str) -> set[str]:
        """Return the pairs that a proxy knows to be ready."""
        try:
            pairs = (await self.http.get(f"{url}/health")).json()["pairs"]
        except httpx.TransportError:
            return set()
        return {pair for pair in pairs if pairs[pair]["ready"]}

    async def create_keys(self) -> None:
        """Create a key of every kind."""
        operator = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
        for name, grant in GRANTS.items():
            answer = await self.http.post("/keys", json={"name": name, **grant}, headers=operator)
            assert answer.status_code == 201, answer.text
            self.keys[name] = answer.json()["key"]
            if name == "revoked":
                await self.http.delete(f"/keys/{answer.json()['id']}", headers=operator)

    def logs(self) -> str:
        """Return the ends of the servers' logs."""
        return f"--- proxy\n{self.proxy.tail(8)}\n--- API server\n{self.api_server.tail(8)}"


def outcomes(script: str, lock: str = "clients") -> Any:
    """Return a module's fixture: what a client's program found at the fleet."""

    @pytest.fixture(scope="module")
    async def found(fleet: ClientFleet) -> Outcomes:
        return await fleet.run(script, lock)

    return found


@pytest.fixture(scope="session")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[ClientFleet]:
    folder = tmp_path_factory.mktemp("clients")
    redis_port, proxy_port, open_port, port = (free_port() for _ in range(4))
    catalog = {"APISERVER_CATALOG": str(ROOT / "deploy/models/demo.yaml"), "APISERVER_MODELS": "en-de,en-fr"}
    catalog["APISERVER_PORT"] = str(port)
    redis_url = f"redis://127.0.0.1:{redis_port}/0"
    usual = {"APISERVER_DRAIN_SECONDS": "0", "APISERVER_LOG_FORMAT": "text"}
    environment = {
        "PROXY_REPLICAS": f"http://127.0.0.1:{port}",
        "PROXY_REDIS_URL": redis_url,
        "PROXY_OPERATOR_TOKEN": OPERATOR_TOKEN,
        "PROXY_CORS_ORIGINS": "chrome-extension://*,moz-extension://*",
        "PROXY_DRAIN_SECONDS": "0",
        "PROXY_LOG_FORMAT": "text",
    }
    redis = redis_server(redis_port, folder)
    api_server = python_server("apiserver", folder, {**catalog, **usual, **PATIENT}, "apiserver")
    keyed, unkeyed = (
        {"PROXY_PORT": str(each), "PROXY_KEYS": keys} for each, keys in ((proxy_port, "on"), (open_port, "off"))
    )
    proxy = python_server("proxy", folder, environment | keyed, "proxy")
    open_proxy = python_server("proxy", folder, environment | unkeyed, "open_proxy")
    servers = (redis, api_server, proxy, open_proxy)
    url, open_url = f"http://127.0.0.1:{proxy_port}", f"http://127.0.0.1:{open_port}"
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        api_server_url = f"http://127.0.0.1:{port}"
        fleet = ClientFleet(url, open_url, {}, client, api_server, api_server_url, redis_url, proxy, folder)
        try:
            for server in servers:
                server.start()

            async def ready() -> bool:
                return all([await fleet.pairs(each) >= PAIRS for each in (url, open_url)])

            await wait_until(ready, READY_WITHIN, f"all pairs ready\n{fleet.logs()}", pause=0.2)
            await fleet.create_keys()
            yield fleet
        finally:
            await asyncio.gather(*(asyncio.to_thread(server.stop) for server in reversed(servers)))
