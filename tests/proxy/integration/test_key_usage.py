"""Usage of keys over HTTP: what is counted, by day and month, through several proxies and without Redis."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import OPERATOR, ask, guarded, new_key
from tests.proxy.proxies import RunningProxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


@pytest.fixture
async def one() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", name="one")
    async with replicas(fake):
        yield fake


async def report(running: RunningProxy, query: str) -> list[dict[str, Any]]:
    response = await running.client.get(f"/keys/usage?{query}", headers=OPERATOR)
    assert response.status_code == 200, response.text
    return response.json()["usage"]


async def until_used(running: RunningProxy, key_id: str, requests: int, chars: int) -> None:
    """Wait until the key has this usage, today and, if a day ended meanwhile, yesterday."""

    async def is_used() -> bool:
        rows = await report(running, f"days=2&key={key_id}")
        return (sum(each["requests"] for each in rows), sum(each["characters"] for each in rows)) == (requests, chars)

    await wait_until(is_used, 20, f"{requests} requests and {chars} characters of {key_id}")


async def test_every_key_is_counted_and_refunds_taken_back(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as first, guarded(one, redis.url) as second:
        plain, plain_key = await new_key(first)
        limited, limited_key = await new_key(first, requests_per_minute=2, name="=limited")
        for running in (first, second, first):
            assert (await ask(running, plain, "x" * 10))[0] == 200
        assert [(await ask(first, limited, "x" * 7))[0] for _ in range(3)] == [200, 200, 429]
        one.translate.problem = (422, "invalid-request")
        assert (await ask(first, plain, "y" * 50))[0] == 422
        assert (await ask(first, plain, ["x"] * 1000))[0] == 413
        await until_used(first, plain_key.id, 5, 30)
        await until_used(second, limited_key.id, 2, 14)
        rows = await report(first, "days=35&months=13")
        assert [(each["period"], each["key"]) for each in rows] == sorted(
            ((each["period"], each["key"]) for each in rows), key=lambda row: (-len(row[0]), row[1])
        )
        assert {each["name"] for each in rows} == {"a caller", "=limited"}
        assert len(await report(first, "")) == 2, "the present month"
        accept = OPERATOR | {"Accept": "text/csv"}
        for query, headers in (("?format=csv", OPERATOR), ("", accept)):
            response = await first.client.get(f"/keys/usage{query}", headers=headers)
            assert response.headers["content-type"].startswith("text/csv")
            table = list(csv.DictReader(io.StringIO(response.text, newline="")))
            assert {each["characters"] for each in table} == {"30", "14"}
        assert (await first.client.get("/keys/usage?format=json", headers=accept)).json()["usage"]


async def test_cancelled_request_is_given_back(one: FakeReplica, redis: RedisServer) -> None:
    one.translate.delay = 60.0
    async with guarded(one, redis.url) as running:
        shown, key = await new_key(running)
        task = asyncio.create_task(ask(running, shown, "x" * 90))
        await until_used(running, key.id, 1, 90)
        task.cancel()
        await until_used(running, key.id, 1, 0)


async def test_usage_without_redis_is_kept_and_written_after(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url, redis_timeout=0.5) as running:
        shown, key = await new_key(running)
        assert (await ask(running, shown, "x" * 10))[0] == 200
        await until_used(running, key.id, 1, 10)
        saved = running.context.keys.store
        redis.server.kill()
        for _ in range(3):
            assert (await ask(running, shown, "x" * 5))[0] == 200, "passes without Redis"
        redis.start()  # empty
        await saved.add(key)
        await until_used(running, key.id, 3, 15)


async def test_graceful_end_writes_the_rest(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as other:
        async with guarded(one, redis.url) as running:
            shown, key = await new_key(running)
            assert (await ask(running, shown, "x" * 10))[0] == 200
        await until_used(other, key.id, 1, 10)


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("days=36", 422, "the maximum is 35"),
        ("months=14", 422, "the maximum is 13"),
        ("days=-1", 422, "the minimum is 0"),
        ("days=many", 422, "days"),
        ("key=x", 422, "key"),
        ("format=xml", 422, "format"),
        ("secret-word=1", 422, "another parameter than days, months, key, format"),
    ],
)
async def test_wrong_query_is_refused(one: FakeReplica, redis: RedisServer, query: str, status: int, says: str) -> None:
    async with guarded(one, redis.url) as running:
        response = await running.client.get(f"/keys/usage?{query}", headers=OPERATOR)
        assert (response.status_code, response.json()["code"]) == (status, "invalid-request")
        assert says in response.json()["detail"]
        assert "secret-word" not in response.text


async def test_usage_is_for_operators_and_needs_redis(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url, redis_timeout=0.5) as running:
        shown, _ = await new_key(running)
        for headers, status in (({}, 401), ({"Authorization": f"Bearer {shown}"}, 403)):
            assert (await running.client.get("/keys/usage", headers=headers)).status_code == status
        redis.server.kill()
        response = await running.client.get("/keys/usage", headers=OPERATOR)
        assert (response.status_code, response.json()["code"]) == (503, "keys-unavailable")
        redis.start()


async def test_metrics_count_keys_by_id_where_set(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url, metric_keys=1) as running:
        (first, key), (second, _) = await new_key(running), await new_key(running)
        for shown in (first, second):
            assert (await ask(running, shown, "x" * 10))[0] == 200
        text = (await running.client.get("/metrics", headers=OPERATOR)).text
        assert f'pairway_proxy_key_characters_total{{key="{key.id}"}} 10.0' in text
        assert 'pairway_proxy_key_requests_total{key="none"} 1.0' in text
        assert first not in text
