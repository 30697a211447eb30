"""The operator API: who may, what is refused, and that a change holds at once, everywhere, whatever Redis does."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from typing import Any, cast

import httpx
import pytest

from proxy.fleet.overrides import MAX_OVERRIDES, OverrideKind
from tests.conftest import PREFIX, RedisAtHand
from tests.fakes import FakeReplica, replicas
from tests.proxy.proxies import RunningProxy, proxy
from tests.waiting import wait_until

TOKEN = "an-operator-token-of-tests"
NOBODY = "http://127.0.0.1:1"
KEY = {"Authorization": f"Bearer {TOKEN}"}


async def asked(running: RunningProxy, order: str, url: str, **more: Any) -> httpx.Response:
    """Give an operator's order: add, remove, drain or resume."""
    if order == "remove":
        return await running.client.delete("/fleet/replicas", params={"url": url}, headers=KEY)
    path = "/fleet/replicas" if order == "add" else f"/fleet/replicas/{order}"
    return await running.client.post(path, json={"url": url, **more}, headers=KEY)


async def done(running: RunningProxy, order: str, url: str, **more: Any) -> dict[str, Any]:
    response = await asked(running, order, url, **more)
    assert response.status_code == 200, response.text
    return cast("dict[str, Any]", response.json())


async def fleet(running: RunningProxy) -> dict[str, dict[str, Any]]:
    lines = (await running.client.get("/fleet")).json()["replicas"]
    return {line["url"]: line for line in lines}


async def obeys(running: RunningProxy, url: str, state: str | None, within: float = 2) -> None:
    """Wait until the replica is in that state for the proxy; None: it is no part of the fleet."""

    async def seen() -> bool:
        line = (await fleet(running)).get(url)
        return (line and line["state"]) == state

    await wait_until(seen, within, f"{url} is {state}")


@pytest.fixture(scope="module")
async def lonely() -> AsyncGenerator[RunningProxy]:
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
async def test_without_the_token_nothing_is_changed(
    lonely: RunningProxy, headers: dict[str, Any], status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    for method, path in (
        ("POST", "/fleet/replicas"),
        ("DELETE", "/fleet/replicas"),
        ("POST", "/fleet/replicas/drain"),
        ("POST", "/fleet/replicas/resume"),
    ):
        body = {"url": NOBODY} if method == "POST" else None
        response = await lonely.client.request(method, path, json=body, headers=headers, params={"url": NOBODY})
        assert (response.status_code, response.json()["code"]) == (status, code)
        assert response.headers.get("WWW-Authenticate") == ('Bearer realm="pairway"' if status == 401 else None)
        assert response.headers["X-Request-Id"] == response.json()["request_id"]
    assert [line["drained"] for line in (await fleet(lonely)).values()] == [False]
    assert TOKEN not in caplog.text


async def test_where_no_token_is_set_nobody_changes_anything_and_the_answer_says_how_to_set_one() -> None:
    one = FakeReplica("en>de", name="one")
    async with replicas(one), proxy([one]) as running:
        for headers in ({}, {"Authorization": "Bearer"}, KEY):
            response = await running.client.post("/fleet/replicas/drain", json={"url": one.url}, headers=headers)
            assert (response.status_code, response.json()["code"]) == (403, "operator-off")
            assert "PROXY_OPERATOR_TOKEN" in response.json()["detail"]
        assert (await fleet(running))[one.url]["state"] == "ready"


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 400, "not an object"),
        (b"{}", 422, "url: "),
        (b'{"url": 1}', 422, "url: "),
        (b'{"url": "10.0.0.1:8001"}', 422, "url: '10.0.0.1:8001' is no URL"),
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
async def test_an_order_that_is_none_is_refused_and_names_the_field(
    lonely: RunningProxy, body: bytes, status: int, told: str
) -> None:
    response = await lonely.client.post("/fleet/replicas", content=body, headers=KEY)
    assert response.status_code == status
    assert told in response.json()["detail"]
    assert "hunter2" not in response.text
    assert list(await fleet(lonely)) == [NOBODY]


async def test_a_url_to_remove_must_be_there_and_be_one(lonely: RunningProxy) -> None:
    response = await lonely.client.delete("/fleet/replicas", headers=KEY)
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "url")
    assert (await asked(lonely, "remove", "nonsense")).status_code == 422


async def test_a_replica_that_nobody_knows_is_404_and_so_is_one_that_was_removed() -> None:
    async with proxy([NOBODY, "http://127.0.0.1:2"], operator_token=TOKEN) as running:
        await done(running, "remove", NOBODY)
        for order in ("remove", "drain", "resume"):
            for url in ("http://10.255.0.1:8001", NOBODY):
                response = await asked(running, order, url)
                assert (response.status_code, response.json()["code"]) == (404, "unknown-replica")


async def test_there_are_only_so_many_changes() -> None:
    async with proxy([NOBODY], operator_token=TOKEN) as running:
        for n in range(MAX_OVERRIDES):
            running.context.fleet.registry.overrides.put(
                f"http://h{n}", OverrideKind.DRAINED, added=False, weight=None, new_verdict=True
            )
        response = await asked(running, "add", "http://127.0.0.1:2")
        assert (response.status_code, response.json()["code"], response.json()["limit"]) == (409, "fleet-full", 1000)


async def test_a_drained_replica_gets_nothing_new_and_ends_what_it_has_and_a_resumed_one_serves_again(
    redis: RedisAtHand,
) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    one.translate.delay = 0.5
    async with replicas(one, two), proxy([one, two], redis.url, operator_token=TOKEN) as running:
        in_hand = [asyncio.create_task(running.translate(f"text {n}")) for n in range(6)]
        await wait_until(lambda: one.texts_in_hand > 0, 3, "one has some")
        answer = await done(running, "drain", one.url)
        assert answer["shared"] is True
        assert answer["change"]["verdict"] == "drained"
        [line] = answer["replicas"]
        assert (line["state"], line["drained"], line["why"]) == ("draining", True, "drained by an operator")
        assert line["in_flight"] > 0
        assert line["pairs"]["en-de"]["ready"] is False
        had = len(one.requests)
        for n in range(10):
            assert (await running.translate(f"more {n}"))[0] == 200
        await running.sweeps(2)
        assert len(one.requests) == had, "nothing new, and no sweep undoes it"
        assert {status for status, _, _ in await asyncio.gather(*in_hand)} == {200}
        health = await running.health()
        assert (health["status"], health["pairs"]["en-de"]) == ("ok", {"ready": 1, "failing": 0, "total": 2})
        [line] = (await done(running, "resume", one.url))["replicas"]
        assert (line["state"], line["drained"], line["why"]) == ("ready", False, None)
        await done(running, "drain", two.url)
        assert (await running.translate("Hello"))[0] == 200
        assert len(one.requests) > had


async def test_when_all_are_drained_their_pairs_are_known_but_not_served() -> None:
    one = FakeReplica("en>de", name="one")
    async with replicas(one), proxy([one], operator_token=TOKEN) as running:
        await done(running, "drain", one.url)
        status, problem, headers = await running.translate("Hello")
        assert (status, problem["code"]) == (503, "pair-unavailable")
        assert "1 draining" in problem["detail"]
        assert "Retry-After" in headers


async def test_an_added_replica_serves_and_is_the_operators_and_adding_it_again_changes_nothing(
    redis: RedisAtHand,
) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>fr", name="two")
    async with replicas(one, two), proxy([one], redis.url, operator_token=TOKEN) as running:
        [line] = (await done(running, "add", f"{two.url}/", weight=2.0))["replicas"]
        assert (line["url"], line["source"], line["state"], line["weight"]) == (two.url, "operator", "starting", 2.0)
        assert line["why"] == "not probed yet"
        await obeys(running, two.url, "ready")
        assert (await running.translate("Hello", "en", "fr"))[0] == 200
        await done(running, "drain", two.url)
        [line] = (await done(running, "add", two.url))["replicas"]
        assert (line["state"], line["weight"]) == ("draining", 2.0), "a script that adds all undrains none"
        [line] = (await done(running, "add", one.url))["replicas"]
        assert (line["source"], line["state"]) == ("settings", "ready")
        await done(running, "remove", two.url)
        assert two.url not in await fleet(running)
        status, problem, _ = await running.translate("Hello", "en", "fr")
        assert (status, problem["code"]) == (503, "pair-unavailable"), "known, but nobody is left"


async def test_a_removed_replica_of_the_settings_stays_removed_until_it_is_added_again(redis: RedisAtHand) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two):
        async with proxy([one, two], redis.url, operator_token=TOKEN) as running:
            assert (await done(running, "remove", one.url))["replicas"] == []
            assert list(await fleet(running)) == [two.url]
            await running.sweeps(2)
            assert list(await fleet(running)) == [two.url]
        async with proxy([one, two], redis.url, operator_token=TOKEN) as restarted:
            assert list(await fleet(restarted)) == [two.url]
            shown = (await restarted.client.get("/fleet")).json()["changes"]
            assert [(each["url"], each["verdict"]) for each in shown] == [(one.url, "removed")]
            await done(restarted, "add", one.url)
            await obeys(restarted, one.url, "ready")


async def test_a_name_means_all_its_addresses_and_an_address_itself() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two", host="127.0.0.2")

    async def resolver(host: str) -> list[str]:
        assert host == "fleet"
        return ["127.0.0.1", "127.0.0.2"]

    async with replicas(one):
        two.port = one.port
        name = f"http://fleet:{one.port}"
        async with replicas(two), proxy([name], resolver=resolver, operator_token=TOKEN) as running:
            assert [line["names"] for line in (await fleet(running)).values()] == [[name], [name]]
            answer = await done(running, "drain", name)
            assert {line["url"]: line["state"] for line in answer["replicas"]} == {
                one.url: "draining",
                two.url: "draining",
            }
            await done(running, "resume", two.url)
            assert [line["state"] for line in (await fleet(running)).values()] == ["draining", "ready"]
            await done(running, "remove", two.url)
            await running.sweeps(2)
            assert list(await fleet(running)) == [one.url]
            await done(running, "remove", name)
            assert await fleet(running) == {}
            await done(running, "add", two.url)
            assert list(await fleet(running)) == [two.url], "an address of its own, without the name"
            assert len((await done(running, "add", name))["replicas"]) == 2
            await obeys(running, one.url, "ready")
            await obeys(running, two.url, "ready")


async def test_the_fleet_says_of_every_replica_why_it_is_out() -> None:
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
        assert (lines[two.url]["state"], lines[two.url]["why"]) == ("draining", "it is about to stop")
        assert lines[gone]["state"] == "down"
        assert "Cannot connect" in lines[gone]["why"]


async def test_every_proxy_obeys_within_a_sweep_whichever_was_asked(redis: RedisAtHand) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with (
        replicas(one, two),
        proxy([one], redis.url, operator_token=TOKEN) as a,
        proxy([one], redis.url, operator_token=TOKEN) as b,
    ):
        for first, second in ((a, b), (b, a)):
            await done(first, "drain", one.url)
            await obeys(second, one.url, "draining")
            await done(second, "resume", one.url)
            await obeys(first, one.url, "ready")
            await done(first, "add", two.url)
            await obeys(second, two.url, "ready")
            await done(second, "remove", two.url)
            await obeys(first, two.url, None)


async def test_a_change_while_redis_is_frozen_holds_here_at_once_and_everywhere_once_it_is_back(
    own_redis: RedisAtHand,
) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with (
        replicas(one, two),
        proxy([one, two], own_redis.url, operator_token=TOKEN) as a,
        proxy([one, two], own_redis.url, operator_token=TOKEN) as b,
    ):
        own_redis.server.signal(signal.SIGSTOP)
        try:
            answer = await done(a, "drain", one.url)
            assert answer["shared"] is False
            assert answer["replicas"][0]["state"] == "draining"
            had = len(one.requests)
            for _ in range(10):
                assert (await a.translate("Hello"))[0] == 200
            assert len(one.requests) == had
        finally:
            own_redis.server.signal(signal.SIGCONT)
        await obeys(b, one.url, "draining", within=3)
        own_redis.check_keys()


async def test_a_redis_restarted_empty_gets_the_changes_back_from_the_proxies(own_redis: RedisAtHand) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two), proxy([one, two], own_redis.url, operator_token=TOKEN) as running:
        await done(running, "drain", one.url)
        own_redis.restart()
        await wait_until(lambda: own_redis.client.hkeys(f"{PREFIX}changes") == [one.url], 3, "written again")
        own_redis.check_keys()
        async with proxy([one, two], own_redis.url, operator_token=TOKEN) as another:
            assert (await fleet(another))[one.url]["state"] == "draining"


async def test_heads_are_answered_like_gets_without_a_body(lonely: RunningProxy) -> None:
    for path in ("/health", "/livez", "/readyz"):
        head, got = await lonely.client.head(path), await lonely.client.get(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
