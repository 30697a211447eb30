"""Observers: what the scope ``observe`` and the observer token open, and that they change nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from proxy.app import create_operator_app
from proxy.keys.api_key import Scope
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import OPERATOR, guarded_fleet, new_key
from tests.proxy.proxies import RunningProxy, fleet_of
from tests.proxy.proxy_process import proxy_process
from tests.support.fake_replica import FakeReplica, replicas

TOKEN = "an-observer-token-of-tests"
READ = ("/metrics", "/status/data", "/fleet")


@pytest.fixture
async def running(redis: RedisServer) -> AsyncGenerator[RunningProxy]:
    """Yield a proxy that needs keys and knows the observer token."""
    async with guarded_fleet(redis.url, "en>de", observer_token=TOKEN) as (one, _):
        yield one


def bearer(shown: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {shown}"}


def changing(running: RunningProxy) -> Iterator[tuple[str, str]]:
    """Yield method and path of each operation that needs an operator."""
    paths: dict[str, dict[str, dict[str, Any]]] = create_operator_app(running.serving.app).openapi()["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            if {"operator": []} in operation.get("security", ()):
                yield method.upper(), path.replace("{key_id}", "0" * 12)


async def test_observer_reads(running: RunningProxy) -> None:
    shown, _ = await new_key(running, scopes=[Scope.OBSERVE])
    translating, _ = await new_key(running)
    for path in READ:
        for allowed in (shown, TOKEN, OPERATOR["Authorization"].removeprefix("Bearer ")):
            assert (await running.client.get(path, headers=bearer(allowed))).status_code == 200, path
        for refused, status, code in (
            ({}, 401, "key-required"),
            (bearer(f"{TOKEN}x"), 403, "key-refused"),
            (bearer(translating), 403, "key-refused"),
        ):
            answer = await running.client.get(path, headers=refused)
            assert (answer.status_code, answer.json()["code"]) == (status, code), path
    for allowed in (shown, TOKEN):
        async with running.client.stream("GET", "/status/stream", headers=bearer(allowed)) as stream:
            assert stream.status_code == 200
    assert (await running.client.get("/status")).status_code == 200, "the page asks for the token"


async def test_every_other_operators_path_refuses_an_observer(running: RunningProxy) -> None:
    shown, _ = await new_key(running, scopes=[Scope.OBSERVE])
    _, spared = await new_key(running)
    before = (await running.client.get("/fleet", headers=OPERATOR)).json()["replicas"]
    operations = list(changing(running))
    assert {
        ("POST", "/fleet/replicas"),
        ("DELETE", "/fleet/replicas"),
        ("POST", "/fleet/replicas/drain"),
        ("POST", "/fleet/replicas/resume"),
        ("PUT", "/fleet/expected"),
        ("POST", "/keys"),
        ("PATCH", "/keys/000000000000"),
        ("DELETE", "/keys/000000000000"),
    } <= set(operations)
    for method, path in operations:
        target = path.replace("0" * 12, spared.id)
        for held in (shown, TOKEN):
            answer = await running.client.request(method, target, headers=bearer(held), json={"name": "a"})
            assert (answer.status_code, answer.json()["code"]) == (403, "key-refused"), (method, path)
    after = (await running.client.get("/fleet", headers=OPERATOR)).json()["replicas"]
    assert [(each["url"], each["drained"]) for each in after] == [(each["url"], each["drained"]) for each in before]
    assert (await running.context.keys.store.read(spared.id)) == spared


async def test_observer_reads_the_usage_of_keys(running: RunningProxy) -> None:
    shown, _ = await new_key(running, scopes=[Scope.OBSERVE])
    translating, _ = await new_key(running)
    for held, status in ((shown, 200), (TOKEN, 200), (translating, 403), (f"{TOKEN}x", 403)):
        assert (await running.client.get("/keys/usage", headers=bearer(held))).status_code == status
    assert (await running.client.get("/keys/usage")).status_code == 401


async def test_observer_does_not_translate(running: RunningProxy) -> None:
    shown, _ = await new_key(running, scopes=[Scope.OBSERVE])
    for held in (shown, TOKEN):
        status, problem, _ = await running.translate("Hello", authorization=f"Bearer {held}")
        assert (status, problem["code"]) == (403, "key-refused")


async def test_observer_token_closes_nothing_where_keys_are_off() -> None:
    """What anybody may read there stays so; it changes nothing, with an operator token or without."""
    for more in ({}, {"operator_token": OPERATOR["Authorization"].removeprefix("Bearer ")}):
        async with fleet_of("en>de", observer_token=TOKEN, **more) as (running, fake):
            for path in READ:
                for headers in ({}, bearer(TOKEN), bearer("wrong")):
                    assert (await running.client.get(path, headers=headers)).status_code == 200
            body = {"url": fake.url}
            refused = await running.client.post("/fleet/replicas/drain", json=body, headers=bearer(TOKEN))
            assert (refused.status_code, refused.json()["code"]) == (403, "key-refused" if more else "operator-off")


async def test_observers_are_in_the_log_by_name_and_their_token_is_not(tmp_path: Path, redis: RedisServer) -> None:
    fake = FakeReplica("en>de")
    settings = {"log_level": "debug", "keys": "on", "observer_token": TOKEN, "redis_timeout": "5"}
    async with replicas(fake), proxy_process(tmp_path, redis, fake, **settings) as (server, client):
        for path in READ:
            answer = await client.get(path, headers=bearer(TOKEN))
            assert (answer.status_code, TOKEN in answer.text) == (200, False)
        answers: list[httpx.Response] = [
            await client.post("/keys", json={"name": "a"}, headers=bearer(TOKEN)),
            await client.post("/translate", json={}, headers=bearer(TOKEN)),
            await client.get(f"/fleet?token={TOKEN}", headers=bearer(f"{TOKEN}x")),
        ]
        assert [answer.status_code for answer in answers] == [403, 403, 403]
        assert all(TOKEN not in answer.text for answer in answers)
    log = server.tail(100_000)
    assert log.count("observer token") >= len(("GET /fleet", "POST /keys")), "scrapes are not logged"
    assert TOKEN not in log
