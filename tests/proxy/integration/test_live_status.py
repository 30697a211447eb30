"""The status page's data: who may read it, what it shows, and how soon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from proxy.app import create_operator_app
from proxy.status import feed, monitor
from tests.conftest import RedisServer
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import free_port
from tests.support.serving import serving
from tests.support.waiting import wait_until, within_awake

TOKEN = "an-operator-token-of-tests"
KEY = {"Authorization": f"Bearer {TOKEN}"}


async def data(running: RunningProxy, **headers: str) -> dict[str, Any]:
    response = await running.client.get("/status/data", headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


@asynccontextmanager
async def stream(running: RunningProxy) -> AsyncGenerator[AsyncIterator[dict[str, Any]]]:
    """Follow the status; yields its messages, without the signs of life between them."""
    async with running.client.stream("GET", "/status/stream") as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-accel-buffering"] == "no"

        async def messages() -> AsyncIterator[dict[str, Any]]:
            name = ""
            async for line in response.aiter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: ") and name == feed.STATUS:
                    yield json.loads(line.removeprefix("data: "))

        yield messages()


async def until_state(messages: AsyncIterator[dict[str, Any]], url: str, state: str) -> dict[str, Any]:
    """Return the first message in which the replica is in that state."""
    async for message in messages:
        if {each["url"]: each["state"] for each in message["replicas"]}.get(url) == state:
            return message
    raise AssertionError("the stream ended")


async def test_data_needs_what_the_fleet_needs() -> None:
    async with fleet_of("en>de", keys="on", operator_token=TOKEN) as (running, _):
        for path in ("/status/data", "/status/stream"):
            refused = await running.client.get(path)
            assert (refused.status_code, refused.json()["code"]) == (401, "key-required")
            wrong = await running.client.get(path, headers={"Authorization": "Bearer wrong"})
            assert (wrong.status_code, wrong.json()["code"]) == (403, "key-refused")
        assert (await data(running, **KEY))["can_operate"] is True
        assert (await running.client.get("/status")).status_code == 200, "the page itself holds no data"


async def test_status_is_on_the_operators_port_alone() -> None:
    async with fleet_of("en>de", operator_port=free_port()) as (one, fake):
        for path in ("/status", "/status/data", "/status/stream"):
            assert (await one.client.get(path)).status_code == 404
        async with (
            serving(create_operator_app(one.serving.app)) as beside,
            httpx.AsyncClient(base_url=beside.url, trust_env=False) as operator,
        ):
            assert (await operator.get("/status/data")).json()["replicas"][0]["url"] == fake.url
            page = await operator.get("/status")
            assert page.headers["content-type"].startswith("text/html")
            assert (await operator.get("/")).status_code == 404


async def test_dead_replica_is_pushed_at_once_and_its_return() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two), proxy([one, two]) as running, stream(running) as messages:
        first = await anext(messages)
        assert [each["level"] for each in first["replicas"]] == ["ok", "ok"]
        await two.stop()
        shown = await within_awake(until_state(messages, two.url, "down"), 10)
        (dead, _) = shown["replicas"]
        assert (dead["url"], dead["level"], dead["cause"]) == (two.url, "bad", "down")
        assert dead["why"] == "cannot connect: connection refused"
        assert [each["text"] for each in shown["events"] if two.url in each["text"]] == [f"{two.url} went down"]
        (pair,) = shown["pairs"]
        assert (pair["level"], pair["ready"], pair["expected"]) == ("warn", 1, 2)
        await two.start()
        shown = await within_awake(until_state(messages, two.url, "ready"), 10)
        assert [
            each["after_s"] >= 0 for each in shown["events"] if each["text"].startswith(f"{two.url} came back after")
        ]


async def test_operators_drain_is_shown() -> None:
    async with fleet_of("en>de", operator_token=TOKEN) as (running, fake), stream(running) as messages:
        await running.client.post("/fleet/replicas/drain", json={"url": fake.url}, headers=KEY)
        shown = await within_awake(until_state(messages, fake.url, "draining"), 10)
        assert (shown["replicas"][0]["level"], shown["replicas"][0]["cause"]) == ("off", "drained")
        assert f"an operator drained {fake.url}" in [each["text"] for each in shown["events"]]


async def test_draining_proxy_ends_its_streams() -> None:
    async with fleet_of("en>de") as (running, _), stream(running) as messages:
        await anext(messages)
        running.context.process.draining.set()

        async def rest() -> int:
            return len([each async for each in messages])

        assert await within_awake(rest(), 30) <= 3
        assert (await data(running))["status"] == "degraded"
        assert (await running.client.get("/status/stream")).text == ""


async def test_viewer_who_leaves_is_forgotten() -> None:
    async with fleet_of("en>de") as (running, _):
        async with stream(running) as messages:
            await anext(messages)
            assert running.context.status.feed.viewers == 1
        await wait_until(lambda: running.context.status.feed.viewers == 0, 10)


async def test_too_many_viewers_are_refused_and_may_poll(monkeypatch: Any) -> None:
    monkeypatch.setattr(feed, "MAX_VIEWERS", 1)
    async with fleet_of("en>de") as (running, _), stream(running) as messages:
        await anext(messages)
        refused = await running.client.get("/status/stream")
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert int(refused.headers["Retry-After"]) > 0
        assert (await data(running))["status"]


async def test_both_proxies_show_the_figures_of_all(redis: RedisServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(monitor, "TICK_SECONDS", 0.1)
    async with fleet_of("en>de", redis_url=redis.url) as (first, fake), proxy([fake], redis.url) as second:
        await wait_until(lambda: first.context.fleet.registry.redis_error is None, 5)
        await asyncio.gather(*(first.translate(f"text {n}") for n in range(3)), second.translate("Hello"))
        assert (await second.translate("Hello", "en", "xx"))[0] == 404

        async def shows_all(running: RunningProxy) -> bool:
            traffic = (await data(running))["traffic"]
            ok, client = (sum(filter(None, traffic["requests"][name])) for name in ("ok", "client"))
            codes = {code: sum(filter(None, counts)) for code, counts in traffic["outcomes"].items()}
            return (ok, client, codes) == (4, 1, {"unknown-pair": 1})

        for running in (first, second):
            await wait_until(lambda running=running: shows_all(running), 40, pause=0.5)
            shown = await data(running)
            assert sorted(each["this"] for each in shown["proxies"]) == [False, True]
            assert sum(each["leader"] for each in shown["proxies"]) == 1
            assert any(each["kind"] == "leader-changed" for each in shown["events"])
            assert any(shown["traffic"]["p95_s"])


async def test_status_without_redis_shows_its_own(own_redis: RedisServer) -> None:
    async with fleet_of("en>de", redis_url=own_redis.url) as (running, _), stream(running) as messages:
        await wait_until(lambda: running.context.fleet.registry.redis_error is None, 5)
        own_redis.server.kill()

        async def until_redis(*, up: bool) -> dict[str, Any]:
            async for message in messages:
                kinds = [each["kind"] for each in message["events"]]
                if message["redis"]["up"] is up and ("redis-back" if up else "redis-away") in kinds:
                    return message
            raise AssertionError("the stream ended")

        shown = await within_awake(until_redis(up=False), 15)
        assert (shown["redis_runbook"], shown["status"]) == ("redis-away", "degraded")
        assert shown["replicas"][0]["level"] == "ok"
        own_redis.start()
        await within_awake(until_redis(up=True), 15)
