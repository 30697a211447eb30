"""The operators' endpoints: a change holds at once, everywhere, whatever Redis does."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from typing import Any, cast

import httpx
import pytest

from proxy.fleet.overrides import MAX_OVERRIDES, Override, OverrideKind
from proxy.fleet.registry import Registry
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until

TOKEN = "an-operator-token-of-tests"
NOBODY = "http://127.0.0.1:1"
KEY = {"Authorization": f"Bearer {TOKEN}"}


async def send_command(running: RunningProxy, order: str, url: str, **more: Any) -> httpx.Response:
    """Give an operator's order: add, remove, drain or resume."""
    if order == "remove":
        return await running.client.delete("/fleet/replicas", params={"url": url}, headers=KEY)
    path = "/fleet/replicas" if order == "add" else f"/fleet/replicas/{order}"
    return await running.client.post(path, json={"url": url, **more}, headers=KEY)


async def apply_command(running: RunningProxy, order: str, url: str, **more: Any) -> dict[str, Any]:
    response = await send_command(running, order, url, **more)
    assert response.status_code == 200, response.text
    return cast("dict[str, Any]", response.json())


async def fleet(running: RunningProxy) -> dict[str, dict[str, Any]]:
    lines = (await running.client.get("/fleet")).json()["replicas"]
    return {line["url"]: line for line in lines}


async def until_state(running: RunningProxy, url: str, state: str | None, within: float = 2) -> None:
    """Wait until the replica is in that state for the proxy; None: it is no part of the fleet."""

    async def seen() -> bool:
        line = (await fleet(running)).get(url)
        return (line and line["state"]) == state

    await wait_until(seen, within, f"{url} is {state}")


@pytest.fixture(scope="module")
async def operated_proxy() -> AsyncGenerator[RunningProxy]:
    """A proxy that takes orders, and is given none that it could follow."""
    async with proxy([NOBODY], operator_token=TOKEN) as running:
        yield running


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 401, "key-required"),
        ({"Authorization": "Bearer"}, 401, "key-required"),
        ({"Authorization": f"Basic {TOKEN}"}, 401, "key-required"),
        ({"Authorization": "Bearer wrong"}, 403, "key-refused"),
        ({"Authorization": f"Bearer {TOKEN}x"}, 403, "key-refused"),
        ({"Authorization": b"Bearer \xe4\xf6"}, 403, "key-refused"),
    ],
)
async def test_change_without_token_is_refused(
    operated_proxy: RunningProxy, headers: dict[str, Any], status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    for method, path in (
        ("POST", "/fleet/replicas"),
        ("DELETE", "/fleet/replicas"),
        ("POST", "/fleet/replicas/drain"),
        ("POST", "/fleet/replicas/resume"),
    ):
        body = {"url": NOBODY} if method == "POST" else None
        response = await operated_proxy.client.request(method, path, json=body, headers=headers, params={"url": NOBODY})
        assert (response.status_code, response.json()["code"]) == (status, code)
        assert response.headers.get("WWW-Authenticate") == ('Bearer realm="pairway"' if status == 401 else None)
        assert response.headers["X-Request-Id"] == response.json()["request_id"]
    assert [line["drained"] for line in (await fleet(operated_proxy)).values()] == [False]
    assert TOKEN not in caplog.text


async def test_change_is_off_where_no_token_is_set() -> None:
    async with fleet_of("en>de", name="one") as (running, one):
        for headers in ({}, {"Authorization": "Bearer"}, KEY):
            response = await running.client.post("/fleet/replicas/drain", json={"url": one.url}, headers=headers)
            assert (response.status_code, response.json()["code"]) == (403, "operator-off")
            assert "PROXY_OPERATOR_TOKEN" in response.json()["detail"]
        assert (await fleet(running))[one.url]["state"] == "ready"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "not an object"),
        (b'{"url": "http://a:1", "url": "http://b:1"}', 400, "occurs twice"),
        (b"{}", 422, "url: "),
        (b'{"url": 1}', 422, "url: "),
        (b'{"url": "10.0.0.1:8001"}', 422, "url: '10.0.0.1:8001' is not the URL"),
        (b'{"url": "http://a:1/translate"}', 422, "url: 'http://a:1/translate' must be http://HOST:PORT"),
        (b'{"url": "http://u:hunter2@a:1"}', 422, "url: 'http://a:1' must be"),
        (b'{"url": "http://a:1\\n"}', 422, "url: "),
        (b'{"url": "http://' + b"a" * 300 + b'"}', 422, "url: "),
        (b'{"url": "http://a:1", "wait": 1}', 422, "wait: "),
        (b'{"url": "http://a:1", "weight": 0}', 422, "weight: "),
        (b'{"url": "http://a:1", "weight": "2"}', 422, "weight: "),
        (b'{"url": "http://a:1", "weight": 1e9}', 422, "weight: "),
        (b'{"url": "' + b"a" * 5000 + b'"}', 413, "4096"),
    ],
)
async def test_invalid_body_is_refused_by_field(
    operated_proxy: RunningProxy, body: bytes, status: int, message: str
) -> None:
    response = await operated_proxy.client.post("/fleet/replicas", content=body, headers=KEY)
    assert response.status_code == status
    assert message in response.json()["detail"]
    assert "hunter2" not in response.text
    assert list(await fleet(operated_proxy)) == [NOBODY]


async def test_remove_needs_a_valid_url(operated_proxy: RunningProxy) -> None:
    response = await operated_proxy.client.delete("/fleet/replicas", headers=KEY)
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "url")
    assert (await send_command(operated_proxy, "remove", "nonsense")).status_code == 422


async def test_unknown_and_removed_replicas_are_404() -> None:
    async with proxy([NOBODY, "http://127.0.0.1:2"], operator_token=TOKEN) as running:
        await apply_command(running, "remove", NOBODY)
        for order in ("remove", "drain", "resume"):
            for url in ("http://10.255.0.1:8001", NOBODY):
                response = await send_command(running, order, url)
                assert (response.status_code, response.json()["code"]) == (404, "unknown-replica")


async def test_override_count_is_bounded() -> None:
    async with proxy([NOBODY], operator_token=TOKEN) as running:
        for n in range(MAX_OVERRIDES):
            running.context.fleet.registry.overrides.change(
                f"http://h{n}", OverrideKind.DRAINED, added=False, weight=None, new_verdict=True
            )
        response = await send_command(running, "add", "http://127.0.0.1:2")
        assert (response.status_code, response.json()["code"], response.json()["limit"]) == (409, "fleet-full", 1000)


async def test_drained_replica_finishes_and_resumed_one_serves(redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    one.translate.delay = 0.5
    async with replicas(one, two), proxy([one, two], redis.url, operator_token=TOKEN) as running:
        in_hand = [asyncio.create_task(running.translate(f"text {n}")) for n in range(6)]
        await wait_until(lambda: one.texts_in_hand > 0, 3, "one has some")
        answer = await apply_command(running, "drain", one.url)
        assert answer["shared"] is True
        assert answer["change"]["verdict"] == "drained"
        [line] = answer["replicas"]
        assert (line["state"], line["drained"], line["why"]) == ("draining", True, "drained by an operator")
        assert line["in_flight"] > 0
        assert line["pairs"]["en-de"]["ready"] is False
        for n in range(10):
            assert (await running.translate(f"more {n}"))[0] == 200
        await running.sweeps(2)
        texts = [request.body["text"] for request in one.requests]
        assert not [text for text in texts if text.startswith("more")], "nothing new, and no sweep undoes it"
        assert {status for status, _, _ in await asyncio.gather(*in_hand)} == {200}
        health = await running.health()
        assert (health["status"], health["pairs"]["en-de"]) == ("ok", {"ready": 1, "failing": 0, "total": 2})
        [line] = (await apply_command(running, "resume", one.url))["replicas"]
        assert (line["state"], line["drained"], line["why"]) == ("ready", False, None)
        await apply_command(running, "drain", two.url)
        assert (await running.translate("Hello"))[0] == 200
        assert one.requests[-1].body["text"] == "Hello"


async def test_pairs_of_drained_fleet_stay_known() -> None:
    async with fleet_of("en>de", name="one", operator_token=TOKEN) as (running, one):
        await apply_command(running, "drain", one.url)
        status, problem, headers = await running.translate("Hello")
        assert (status, problem["code"]) == (503, "pair-unavailable")
        assert "1 draining" in problem["detail"]
        assert "Retry-After" in headers


async def test_added_replica_serves_and_adding_again_is_idempotent(redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>fr", name="two")
    async with replicas(one, two), proxy([one], redis.url, operator_token=TOKEN) as running:
        [line] = (await apply_command(running, "add", f"{two.url}/", weight=2.0))["replicas"]
        assert (line["url"], line["source"], line["state"], line["weight"]) == (two.url, "operator", "starting", 2.0)
        assert line["why"] == "not probed yet"
        await until_state(running, two.url, "ready")
        assert (await running.translate("Hello", "en", "fr"))[0] == 200
        await apply_command(running, "drain", two.url)
        [line] = (await apply_command(running, "add", two.url))["replicas"]
        assert (line["state"], line["weight"]) == ("draining", 2.0), "a script that adds all undrains none"
        [line] = (await apply_command(running, "add", one.url))["replicas"]
        assert (line["source"], line["state"]) == ("settings", "ready")
        await apply_command(running, "remove", two.url)
        assert two.url not in await fleet(running)
        status, problem, _ = await running.translate("Hello", "en", "fr")
        assert (status, problem["code"]) == (503, "pair-unavailable"), "known, but nobody is left"


async def test_removed_replica_stays_removed_until_added(redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two):
        async with proxy([one, two], redis.url, operator_token=TOKEN) as running:
            assert (await apply_command(running, "remove", one.url))["replicas"] == []
            assert list(await fleet(running)) == [two.url]
            await running.sweeps(2)
            assert list(await fleet(running)) == [two.url]
        async with proxy([one, two], redis.url, operator_token=TOKEN) as restarted:
            assert list(await fleet(restarted)) == [two.url]
            shown = (await restarted.client.get("/fleet")).json()["changes"]
            assert [(each["url"], each["verdict"]) for each in shown] == [(one.url, "removed")]
            await apply_command(restarted, "add", one.url)
            await until_state(restarted, one.url, "ready")


async def test_host_name_stands_for_all_its_addresses() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two", host="127.0.0.2")

    async def resolver(host: str) -> list[str]:
        assert host == "fleet"
        return ["127.0.0.1", "127.0.0.2"]

    async with replicas(one):
        two.port = one.port
        name = f"http://fleet:{one.port}"
        async with replicas(two), proxy([name], resolver=resolver, operator_token=TOKEN) as running:
            assert [line["names"] for line in (await fleet(running)).values()] == [[name], [name]]
            answer = await apply_command(running, "drain", name)
            assert {line["url"]: line["state"] for line in answer["replicas"]} == {
                one.url: "draining",
                two.url: "draining",
            }
            await apply_command(running, "resume", two.url)
            assert [line["state"] for line in (await fleet(running)).values()] == ["draining", "ready"]
            await apply_command(running, "remove", two.url)
            await running.sweeps(2)
            assert list(await fleet(running)) == [one.url]
            await apply_command(running, "remove", name)
            assert await fleet(running) == {}
            await apply_command(running, "add", two.url)
            assert list(await fleet(running)) == [two.url], "an address of its own, without the name"
            assert len((await apply_command(running, "add", name))["replicas"]) == 2
            await until_state(running, one.url, "ready")
            await until_state(running, two.url, "ready")


async def test_fleet_says_why_a_replica_is_out() -> None:
    one, two, gone = FakeReplica("en>de", "en>fr", name="one"), FakeReplica("en>de", name="two"), NOBODY
    one.pairs["en>fr"] = False
    two.state = "draining"
    async with replicas(one, two), proxy([one, two, gone]) as running:
        lines = await fleet(running)
        assert lines[one.url] | {"report": None} == {
            "url": one.url,
            "names": [one.url],
            "source": "settings",
            "state": "ready",
            "drained": False,
            "why": "not ready for en-fr (its engine starts)",
            "weight": 1.0,
            "in_flight": 0,
            "score": None,
            "report": None,
            "pairs": {
                "en-de": {"ready": True, "why": None, "model": "model-one", "rank": 0, "breaker": None},
                "en-fr": {"ready": False, "why": "its engine starts", "model": "model-one", "rank": 0, "breaker": None},
            },
        }
        report = lines[one.url]["report"]
        assert 0 <= report.pop("age_s") < 5
        assert report.pop("models")["model-one"]["revision"] == "1"
        assert report == {"replica_id": "one", "version": "0.0-fake", "in_flight": 0}
        assert (lines[two.url]["state"], lines[two.url]["why"]) == ("draining", "the server is stopping")
        assert lines[gone]["state"] == "down"
        assert "refused" in lines[gone]["why"].lower()


async def test_change_reaches_every_proxy_within_a_sweep(redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with (
        replicas(one, two),
        proxy([one], redis.url, operator_token=TOKEN) as a,
        proxy([one], redis.url, operator_token=TOKEN) as b,
    ):
        for first, second in ((a, b), (b, a)):
            await apply_command(first, "drain", one.url)
            await until_state(second, one.url, "draining")
            await apply_command(second, "resume", one.url)
            await until_state(first, one.url, "ready")
            await apply_command(first, "add", two.url)
            await until_state(second, two.url, "ready")
            await apply_command(second, "remove", two.url)
            await until_state(first, two.url, None)


async def test_change_during_frozen_redis_spreads_after_it_returns(own_redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with (
        replicas(one, two),
        proxy([one, two], own_redis.url, operator_token=TOKEN) as a,
        proxy([one, two], own_redis.url, operator_token=TOKEN) as b,
    ):
        own_redis.server.signal(signal.SIGSTOP)
        try:
            answer = await apply_command(a, "drain", one.url)
            assert answer["shared"] is False
            assert answer["replicas"][0]["state"] == "draining"
            for _ in range(10):
                assert (await a.translate("Hello"))[0] == 200
            assert not one.requests
        finally:
            own_redis.server.signal(signal.SIGCONT)
        await until_state(b, one.url, "draining", within=3)
        own_redis.check_keys()


async def test_empty_redis_gets_overrides_back_from_proxies(own_redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two), proxy([one, two], own_redis.url, operator_token=TOKEN) as running:
        await apply_command(running, "drain", one.url)
        own_redis.restart()
        await wait_until(lambda: own_redis.client.hkeys(f"{PREFIX}changes") == [one.url], 3, "written again")
        own_redis.check_keys()
        async with proxy([one, two], own_redis.url, operator_token=TOKEN) as another:
            assert (await fleet(another))[one.url]["state"] == "draining"


async def test_head_is_answered_like_get_without_body(operated_proxy: RunningProxy) -> None:
    for path in ("/health", "/livez", "/readyz"):
        head, got = await operated_proxy.client.head(path), await operated_proxy.client.get(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-type"] == got.headers["content-type"]


async def test_metrics_show_a_change_before_the_next_sweep() -> None:
    async with fleet_of("en>de", operator_token=TOKEN, probe_interval=60) as (running, fake):
        await until_state(running, fake.url, "ready")
        await apply_command(running, "drain", fake.url)
        lines = (await running.client.get("/metrics")).text.splitlines()
        assert 'pairway_proxy_replicas{state="draining"} 1.0' in lines
        assert 'pairway_proxy_replicas{state="ready"} 0.0' in lines
        assert 'pairway_proxy_pair_ready_replicas{pair="en-de"} 0.0' in lines


async def test_answer_to_a_change_is_as_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def share_slowly(_registry: Registry, _override: Override) -> bool:
        await asyncio.sleep(0.5)
        return False

    monkeypatch.setattr(Registry, "share_override", share_slowly)
    async with fleet_of(operator_token=TOKEN, probe_interval=60) as (running, fake):
        before = (await fleet(running))[fake.url]["report"]["age_s"]
        changed = await apply_command(running, "drain", fake.url)
        assert changed["replicas"][0]["report"]["age_s"] >= before + 0.4


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "not an object"),
        (b'{"de": 1, "de": 2}', 400, "occurs twice"),
        (b"{}", 422, "names no service"),
        (b'{"fr": 1}', 422, "fr: is not a service; the services of PROXY_REPLICAS are: de"),
        (b'{"de": -1}', 422, "de: -1 is too small; the minimum is 0"),
        (b'{"de": 1001}', 422, "de: 1001 is too large; the maximum is 1000"),
        (b'{"de": "3"}', 422, 'de: "3" is not a whole number'),
        (b'{"de": 1.5}', 422, "de: 1.5 is not a whole number"),
        (b'{"de": true}', 422, "de: true is not a whole number"),
        (b'{"de": {"": []}}', 422, "de: "),
        (b'{"de": ' + b"1" * 5000 + b"}", 413, "4096"),
    ],
)
async def test_wrong_expected_replicas_are_refused(
    serving_by_name: RunningProxy, body: bytes, status: int, message: str
) -> None:
    response = await serving_by_name.client.put("/fleet/expected", content=body, headers=KEY)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert message in response.json()["detail"]
    assert (await serving_by_name.health())["services"] == {
        "de": {"ready": 0, "expected": None, "learnt": False, "why": "no number stated"}
    }
    for headers, refusal in (({}, 401), ({"Authorization": "Bearer wrong"}, 403)):
        assert (
            await serving_by_name.client.put("/fleet/expected", json={"de": 1}, headers=headers)
        ).status_code == refusal


@pytest.fixture(scope="module")
async def serving_by_name() -> AsyncGenerator[RunningProxy]:
    """A proxy whose only service has no replica."""

    async def resolver(host: str) -> list[str]:
        raise OSError(host)

    async with proxy(["http://de:1"], resolver=resolver, operator_token=TOKEN) as running:
        yield running


async def test_expected_replicas_show_in_health_and_metrics(redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>fr", name="two")
    hosts = {"de": ["127.0.0.1"], "fr": ["127.0.0.1"]}

    async def resolver(host: str) -> list[str]:
        try:
            return hosts[host]
        except KeyError:
            raise OSError(host) from None

    async with replicas(one, two):
        urls = [f"http://de:{one.port}", f"http://fr:{two.port}"]
        async with (
            proxy(urls, redis.url, resolver=resolver, operator_token=TOKEN) as running,
            proxy(urls, redis.url, resolver=resolver, operator_token=TOKEN) as other,
        ):
            assert (await running.health())["status"] == "ok"
            response = await running.client.put("/fleet/expected", json={"de": 2, "fr": 1}, headers=KEY)
            assert response.json()["shared"] is True
            assert response.json()["services"]["fr"] == {"ready": 1, "expected": 1, "learnt": False, "why": None}

            async def degraded() -> bool:
                return (await other.health())["status"] == "degraded"

            await wait_until(degraded, 5, "the other proxy knows")
            health = await running.health()
            assert (health["services"]["de"]["ready"], health["services"]["de"]["expected"]) == (1, 2)
            assert "python -m proxy fleet expect de=1" in health["services"]["de"]["why"]
            await running.sweeps(2)
            lines = (await running.client.get("/metrics")).text.splitlines()
            assert 'pairway_proxy_expected_replicas{service="de"} 2.0' in lines
            assert 'pairway_proxy_ready_replicas{service="de"} 1.0' in lines

            del hosts["fr"]
            await two.stop()
            await running.client.put("/fleet/expected", json={"de": 1, "fr": 0}, headers=KEY)

            for each in (running, other):
                await until_state(each, two.url, None, within=10)
                health = await each.health()
                assert (health["status"], list(health["pairs"])) == ("ok", ["en-de"])
            assert (await running.translate("Hello", "en", "fr"))[0] == 404
