"""The proxy's edges: kinds of bodies, browsers, web servers before it, the fleet's token, the operators' own port."""

from __future__ import annotations

import json
import logging
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from pydantic import SecretStr

from apiserver.settings import ApiServerSettings
from proxy.app import create_operator_app
from shared.http.problems import install_http_habits
from shared.protocol.bearer_token import authenticate
from tests.conftest import PREFIX, RedisAtHand
from tests.fakes import FakeReplica, replicas, serving
from tests.processes import free_port, python_server
from tests.proxy.proxies import RunningProxy, proxy
from tests.proxy.test_proxy_process import left_with, proxy_process

TOKEN = "a-token-that-is-long-enough"
OPERATOR = "an-operator-token-of-tests"
ASKED = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
PAGE = {"Origin": "https://page.example"}


@pytest.fixture(scope="module")
async def running() -> Any:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], operator_token=OPERATOR) as one:
        yield one


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
@pytest.mark.parametrize("path", ["/translate", "/fleet/replicas", "/fleet/replicas/drain"])
async def test_what_a_page_can_send_unasked_is_415(running: RunningProxy, path: str, kind: str) -> None:
    headers = {"Content-Type": kind, "Authorization": f"Bearer {OPERATOR}"}
    response = await running.client.post(path, content=json.dumps(ASKED), headers=headers)
    assert (response.status_code, response.json()["code"]) == (415, "unsupported-media")
    assert response.headers["accept"] == "application/json"


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
async def test_json_is_read_however_it_is_spelt(running: RunningProxy, kind: str) -> None:
    response = await running.client.post("/translate", content=json.dumps(ASKED), headers={"Content-Type": kind})
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [("/translate", 405), ("/health", 200), ("/nowhere", 404), ("/fleet", 200), ("/metrics", 200), ("/docs", 200)],
)
async def test_every_answer_tells_browsers_to_keep_it_for_themselves(
    running: RunningProxy, path: str, status: int
) -> None:
    response = await running.client.get(path)
    assert response.status_code == status
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "no-store"
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert ("cdn.jsdelivr.net" in policy) == (path == "/docs")
    assert "server" not in response.headers
    assert not [name for name in response.headers if name.startswith("access-control")]


async def test_the_page_of_the_documentation_loads_only_what_its_policy_lets_it(running: RunningProxy) -> None:
    page = await running.client.get("/docs")
    policy = page.headers["content-security-policy"]
    hosts = {each.split("/")[2] for each in page.text.split('"') if each.startswith("https://")}
    assert hosts
    assert all(host in policy for host in hosts)


async def test_without_the_setting_no_page_of_another_origin_may_ask(running: RunningProxy) -> None:
    response = await running.client.options("/translate", headers={**PAGE, "Access-Control-Request-Method": "POST"})
    assert response.status_code == 405
    assert "access-control-allow-origin" not in (await running.client.get("/health", headers=PAGE)).headers


@pytest.mark.parametrize("origins", [("https://page.example",), ("*",)])
async def test_pages_of_the_origins_named_may_ask_and_read_the_headers(origins: tuple[str, ...]) -> None:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], cors_origins=origins) as one:
        wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-priority"}
        first = await one.client.options("/translate", headers={**PAGE, **wanted})
        answer = await one.client.post("/translate", json=ASKED, headers=PAGE)
        refused = await one.client.post("/translate", json={}, headers=PAGE)
        other = await one.client.options("/translate", headers={"Origin": "https://other.example", **wanted})
        change = await one.client.options(
            "/fleet/replicas", headers={**PAGE, "Access-Control-Request-Method": "DELETE"}
        )
    assert first.status_code == 200
    for each in (first, answer, refused):
        assert each.headers["access-control-allow-origin"] == origins[0]
        assert "access-control-allow-credentials" not in each.headers
        assert each.headers["x-request-id"]
    assert {"X-Request-Id", "Retry-After", "X-Cache", "RateLimit"} <= set(
        answer.headers["access-control-expose-headers"].split(", ")
    )
    assert (other.status_code == 200) == (origins == ("*",))
    assert change.status_code == 400


@pytest.mark.parametrize(
    ("trusted", "sent", "believed"),
    [
        ((), "203.0.113.9", "127.0.0.1"),
        (("10.0.0.0/8",), "203.0.113.9", "127.0.0.1"),
        (("127.0.0.1",), "203.0.113.9", "203.0.113.9"),
        (("127.0.0.0/8", "10.0.0.0/8"), "198.51.100.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"),
        (("127.0.0.1",), "", "127.0.0.1"),
    ],
)
async def test_an_address_that_is_told_is_believed_only_of_those_named(
    monkeypatch: pytest.MonkeyPatch, trusted: tuple[str, ...], sent: str, believed: str
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # uvicorn's own setting is none of ours
    app = FastAPI()

    @app.get("/who")
    async def who(request: Request) -> str:  # pyright: ignore[reportUnusedFunction] - by its route
        return f"{request.client.host if request.client else None} {request.url.scheme}"

    async with serving(app, trusted_proxies=trusted) as served, httpx.AsyncClient(trust_env=False) as client:
        told = {"X-Forwarded-For": sent, "X-Forwarded-Proto": "https"}
        host, scheme = (await client.get(f"{served.url}/who", headers=told)).json().split()
    assert host == believed
    assert scheme == ("https" if "127" in str(trusted) else "http")


async def test_the_fleets_token_goes_with_translations_and_probes_and_into_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fake = FakeReplica("en>de")
    with caplog.at_level(logging.DEBUG):
        async with replicas(fake), proxy([fake], replica_token=TOKEN) as one:
            assert (await one.translate("Hello"))[0] == 200
            assert fake.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
            assert TOKEN not in repr(one.context.settings)
            assert TOKEN not in (await one.client.get("/fleet")).text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(("token", "told"), [(TOKEN, "APISERVER_TOKEN differ"), ("", "set PROXY_REPLICA_TOKEN")])
async def test_a_replica_with_another_token_says_so_in_health(token: str, told: str) -> None:
    app = FastAPI()
    install_http_habits(app)

    @app.get("/report")
    async def report(request: Request) -> None:  # pyright: ignore[reportUnusedFunction] - by its route
        authenticate(
            SecretStr("another-token-altogether"), request.headers.get("authorization"), subject="x", owner="its"
        )

    async with serving(app) as served, proxy([served.url], replica_token=token) as one:
        await one.sweeps(4)
        (replica,) = (await one.health())["replicas"]
    assert replica["state"] in {"starting", "down"}
    assert told in replica["why"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "api.example"])
def test_an_api_server_beyond_loopback_needs_a_token_or_an_order(host: str) -> None:
    with pytest.raises(ValueError, match=r"APISERVER_TOKEN .* or APISERVER_OPEN=true"):
        ApiServerSettings.model_validate({"host": host})
    ApiServerSettings.model_validate({"host": host, "open": True})
    ApiServerSettings.model_validate({"host": host, "token": TOKEN})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_on_loopback_an_api_server_needs_none(host: str) -> None:
    ApiServerSettings.model_validate({"host": host})


async def test_operators_have_a_port_of_their_own_where_one_is_set() -> None:
    fake = FakeReplica("en>de")
    port = free_port()
    async with replicas(fake), proxy([fake], operator_port=port, operator_token=OPERATOR) as one:
        for path in ("/fleet", "/metrics"):
            assert (await one.client.get(path)).status_code == 404
        assert (await one.client.post("/fleet/replicas", json={"url": fake.url})).status_code == 404
        assert set(await _paths(one.client)) == {"/translate", "/usage", "/health", "/languages", "/livez", "/readyz"}
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
            done = await operator.post("/fleet/replicas/drain", json={"url": fake.url}, headers=key)
            assert done.status_code == 200


async def _paths(client: httpx.AsyncClient) -> list[str]:
    return list((await client.get("/openapi.json")).json()["paths"])


async def test_a_proxy_with_two_ports_serves_both_and_stops_with_0(tmp_path: Path, redis: RedisAtHand) -> None:
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
        assert await left_with(server) == 0
        warned = [line for line in server.tail(100).splitlines() if "any client can claim any address" in line]
        assert json.loads(warned[0])["trusted_proxies"] == ["0.0.0.0/0", "::/0"]


async def test_a_proxy_whose_operators_port_is_taken_ends_with_1_and_leaves_nothing(
    tmp_path: Path, redis: RedisAtHand
) -> None:
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
            assert await left_with(server) == 1
        finally:
            server.stop()
    assert not redis.client.exists(f"{PREFIX}prober"), "the lease is given back"
    assert "address already in use" in server.tail()
