"""The port for operators alone."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import httpx

from proxy.app import create_operator_app
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import proxy
from tests.proxy.proxy_process import exit_code_of, proxy_process
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import free_port, python_server
from tests.support.serving import serving

OPERATOR = "an-operator-token-of-tests"
# A page that may call the clients' port alone.
OTHER_PAGE = {"Origin": "https://page.example"}
ASKED = {"text": "Hello", "source_lang": "en", "target_lang": "de"}


async def test_operator_port_serves_operator_routes_alone() -> None:
    fake = FakeReplica("en>de")
    port = free_port()
    async with (
        replicas(fake),
        proxy([fake], operator_port=port, operator_token=OPERATOR, cors_origins=tuple(OTHER_PAGE.values())) as one,
    ):
        for path in ("/fleet", "/metrics"):
            assert (await one.client.get(path)).status_code == 404
        assert (await one.client.post("/fleet/replicas", json={"url": fake.url})).status_code == 404
        assert set(await _paths(one.client)) == {
            "/translate",
            "/detect",
            "/glossaries",
            "/glossaries/{glossary_id}",
            "/glossaries/{glossary_id}/dictionaries/{source_lang}/{target_lang}",
            "/usage",
            "/health",
            "/languages",
            "/livez",
            "/readyz",
            "/startupz",
        }
        async with (
            serving(create_operator_app(one.serving.app)) as beside,
            httpx.AsyncClient(base_url=beside.url, trust_env=False) as operator,
        ):
            assert (await operator.get("/fleet")).json()["replicas"][0]["url"] == fake.url
            assert (await operator.get("/metrics")).headers["content-type"].startswith("text/plain")
            assert (await operator.post("/translate", json=ASKED)).status_code == 404
            refused = await operator.post("/fleet/replicas/drain", json={"url": fake.url})
            assert (refused.status_code, refused.headers["www-authenticate"][:6]) == (401, "Bearer")
            key = {"Authorization": f"Bearer {OPERATOR}"}
            for headers in (OTHER_PAGE, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
                refused = await operator.post("/fleet/replicas/drain", json={"url": fake.url}, headers=key | headers)
                assert (refused.status_code, refused.json()["code"]) == (403, "origin-refused")
            assert (await operator.get("/fleet")).json()["replicas"][0]["drained"] is False
            assert (await one.client.get("/languages", headers=OTHER_PAGE)).status_code == 200
            done = await operator.post("/fleet/replicas/drain", json={"url": fake.url}, headers=key)
            assert done.status_code == 200


async def _paths(client: httpx.AsyncClient) -> list[str]:
    return list((await client.get("/openapi.json")).json()["paths"])


async def test_proxy_with_operator_port_serves_both_and_stops(tmp_path: Path, redis: RedisServer) -> None:
    fake = FakeReplica("en>de")
    port = free_port()
    async with (
        replicas(fake),
        proxy_process(
            tmp_path,
            redis,
            fake,
            operator_port=str(port),
            drain_seconds="0",
            trusted_proxies="127.0.0.1,0.0.0.0/0,::/0",
        ) as (server, client),
    ):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as operator:
            response = await operator.get("/fleet")
            assert response.status_code == 200
            assert response.headers["date"]
        assert (await client.get("/fleet")).status_code == 404
        server.signal(signal.SIGTERM)
        assert await exit_code_of(server) == 0
        warned = [line for line in server.tail(100).splitlines() if "any client can forge its address" in line]
        assert json.loads(warned[0])["trusted_proxies"] == ["0.0.0.0/0", "::/0"]


async def test_taken_operator_port_ends_proxy_with_1(tmp_path: Path, redis: RedisServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environment = {
            "PROXY_PORT": str(free_port()),
            "PROXY_OPERATOR_PORT": str(taken.getsockname()[1]),
            "PROXY_REDIS_URL": redis.url,
            "PROXY_REDIS_PREFIX": PREFIX,
        }
        server = python_server("proxy", tmp_path, environment, "proxy")
        server.start()
        try:
            assert await exit_code_of(server) == 1
        finally:
            server.stop()
    assert not redis.client.exists(f"{PREFIX}prober"), "the lease is given back"
    assert "address already in use" in server.tail()
