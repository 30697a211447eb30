"""The proxy's process, both ports: which requests of browsers are served, and what their pages may read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from tests.conftest import RedisServer
from tests.proxy.proxy_process import proxy_process
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import free_port

JSON = {"Content-Type": "application/json"}
NATIVE = '{"text":"Hello","source_lang":"en","target_lang":"de"}'
PAGE = "https://page.example"
EXTENSION = "chrome-extension://abcdefghijklmnop"
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
PRIVATE = {"Access-Control-Request-Private-Network": "true"}
CROSS, SAME_SITE, OWN, NONE = ({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site", "same-origin", "none"))
LINK = {"Sec-Fetch-Mode": "navigate"}
EVIL = {"Origin": "https://evil.example"}
ALLOW = "access-control-allow-"


class Ports:
    """Both ports of a proxy, and HTTP/1.1 written by hand: clients choose Host themselves."""

    def __init__(self, clients: int, operators: int) -> None:
        self.clients = clients
        self.operators = operators

    async def send(
        self, port: int, method: str, path: str, headers: Mapping[str, str], body: str = ""
    ) -> tuple[int, dict[str, str]]:
        """Return the answer's status and headers; OWN_HOST in a value is the port's own address."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sent = {"Host": "OWN_HOST", "Connection": "close", "Content-Length": str(len(body)), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items()).replace("OWN_HOST", f"127.0.0.1:{port}")
        writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n{body}".encode())
        async with asyncio.timeout(20):
            head, _, _ = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        status, *fields = head.decode().split("\r\n")
        return int(status.split()[1]), {
            name.lower(): value for name, _, value in (each.partition(": ") for each in fields)
        }


@pytest.fixture(scope="module")
async def ports(_shared_redis: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Ports]:
    folder: Path = tmp_path_factory.mktemp("proxy")
    operators, fake = free_port(), FakeReplica("en>de")
    settings = {"operator_port": str(operators), "cors_origins": f"{PAGE},chrome-extension://*"}
    async with replicas(fake), proxy_process(folder, _shared_redis, fake, **settings) as (_, client):
        port = client.base_url.port
        assert port is not None
        yield Ports(port, operators)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "allowed"),
    [
        # Programs.
        ("POST", "/translate", {}, 200, None),
        ("GET", "/languages", {"Host": "localhost"}, 200, None),
        # Our own pages.
        ("POST", "/translate", {"Origin": "http://OWN_HOST", **OWN}, 200, None),
        ("POST", "/translate", {"Origin": "http://localhost:8000", "Host": "LocalHost:8000"}, 200, None),
        ("POST", "/translate", {"Origin": "https://[::1]", "Host": "[::1]"}, 200, None),
        ("GET", "/languages", OWN, 200, None),
        ("GET", "/docs", NONE | LINK, 200, None),
        # Links.
        ("GET", "/docs", CROSS | LINK, 200, None),
        ("GET", "/health", SAME_SITE | LINK, 200, None),
        ("GET", "/translate", CROSS | LINK, 403, None),
        ("POST", "/docs", CROSS | LINK, 403, None),
        # Allowed pages and extensions.
        ("POST", "/translate", {"Origin": PAGE, **CROSS}, 200, PAGE),
        ("POST", "/translate", {"Origin": EXTENSION, **NONE}, 200, EXTENSION),
        ("POST", "/nowhere", {"Origin": PAGE}, 404, PAGE),
        ("GET", "/translate", {"Origin": PAGE}, 405, PAGE),
        ("POST", "/libretranslate/translate", {"Origin": PAGE}, 400, PAGE),
        ("OPTIONS", "/translate", {"Origin": PAGE, **ASKS}, 200, PAGE),
        ("OPTIONS", "/glossaries/1", {"Origin": EXTENSION, **ASKS, "Access-Control-Request-Method": "PATCH"}, 200, EXTENSION),
        ("OPTIONS", "/translate", {"Origin": PAGE, **ASKS, "Access-Control-Request-Headers": "x-other"}, 403, None),
        # All others, whatever they ask for.
        ("POST", "/translate", EVIL, 403, None),
        ("POST", "/translate", EVIL | OWN, 403, None),
        ("POST", "/translate", {"Origin": "null", **CROSS}, 403, None),
        ("POST", "/translate", {"Origin": "moz-extension://abc"}, 403, None),
        ("POST", "/translate", {"Origin": "http://127.0.0.1:1"}, 403, None),
        ("POST", "/translate", {"Origin": "http://OWN_HOST", **SAME_SITE}, 403, None),
        ("POST", "/translate", CROSS, 403, None),
        ("POST", "/libretranslate/translate/", CROSS, 403, None),
        ("GET", "/health", CROSS, 403, None),
        ("GET", "/nowhere", EVIL, 403, None),
        ("HEAD", "/health", EVIL, 403, None),
        ("OPTIONS", "/translate", EVIL | ASKS | PRIVATE, 403, None),
        # DNS rebinding.
        ("POST", "/translate", {"Origin": "http://evil.example:8000", "Host": "evil.example:8000"}, 403, None),
        ("GET", "/health", {"Host": "evil.example:8000"}, 403, None),
    ],
)  # fmt: skip
async def test_clients_port_serves_own_and_allowed_pages(
    ports: Ports, method: str, path: str, headers: dict[str, str], status: int, allowed: str | None
) -> None:
    body = NATIVE if method == "POST" else ""
    answered, named = await ports.send(ports.clients, method, path, JSON | headers, body)
    assert answered == status
    assert named.get("access-control-allow-origin") == allowed
    if allowed is None:
        assert not [name for name in named if name.startswith("access-control-")]
    elif method == "OPTIONS":
        assert named[f"{ALLOW}methods"] == "GET, POST, PUT, PATCH, DELETE"
    else:
        assert {"X-Request-Id", "X-Trace-ID", "X-Pairway-Ignored", "X-Pairway-Warnings"} <= set(
            named["access-control-expose-headers"].split(", ")
        )
    assert f"{ALLOW}private-network" not in named
    assert named["x-request-id"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/fleet", {}, 200),
        ("GET", "/metrics", CROSS | LINK, 200),
        ("GET", "/fleet", {"Origin": "http://OWN_HOST"}, 200),
        ("GET", "/fleet", {"Origin": PAGE}, 403),
        ("OPTIONS", "/fleet", {"Origin": PAGE, **ASKS}, 403),
        ("OPTIONS", "/fleet", {"Origin": EXTENSION, **ASKS, **PRIVATE}, 403),
        ("GET", "/metrics", CROSS, 403),
        ("POST", "/fleet/replicas", EVIL, 403),
        ("GET", "/fleet", {"Host": "evil.example"}, 403),
    ],
)
async def test_operators_port_serves_its_own_pages_alone(
    ports: Ports, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answered, named = await ports.send(ports.operators, method, path, JSON | headers, "{}" if method == "POST" else "")
    assert answered == status
    assert not [name for name in named if name.startswith("access-control-")]
