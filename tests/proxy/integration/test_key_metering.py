"""What keys are charged: exact counts, refunds, and who may watch."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator

import pytest

from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import (
    TOKEN,
    ask,
    guarded,
    new_key,
    stop_clock,
    usage,
    used_today,
)
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


@pytest.fixture
async def one() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", name="one")
    async with replicas(fake):
        yield fake


@pytest.mark.parametrize("identical", [False, True])
async def test_request_limit_is_exact_for_concurrent_requests(
    one: FakeReplica, redis: RedisServer, *, identical: bool
) -> None:
    async with guarded(one, redis.url) as running:
        stop_clock(running)
        shown, _ = await new_key(running, requests_per_minute=20)
        texts = ["the same" if identical else f"text {n}" for n in range(60)]
        answers = await asyncio.gather(*(ask(running, shown, text) for text in texts))
        assert Counter(status for status, _, _ in answers) == {200: 20, 429: 40}
        assert (await usage(running, shown))["requests_per_minute"]["used"] == 20


async def test_disconnect_after_first_part_is_charged(one: FakeReplica, redis: RedisServer) -> None:
    one.translate.breaks_after, one.translate.breaks_with = 2, "hang"
    body = {"text": "x" * 90, "source_lang": "en", "target_lang": "de"}
    async with guarded(one, redis.url) as running:
        shown, _ = await new_key(running, chars_per_day=100)
        headers = {"Authorization": f"Bearer {shown}", "Accept": "text/event-stream"}
        async with running.client.stream("POST", "/translate", json=body, headers=headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("data:") and "text" in json.loads(line[5:]):
                    break
        await wait_until(lambda: running.context.process.body_budget.reserved == 0, 5, "the request has ended")
        assert await used_today(running, shown) == 90
        assert (await ask(running, shown, "x" * 90))[0] == 429


async def test_fleet_and_metrics_need_an_operator_where_keys_are_on(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as running:
        shown, _ = await new_key(running)
        operator, _ = await new_key(running, scopes=["operate"])
        for path in ("/fleet", "/metrics"):
            answers = [
                await running.client.get(path, headers={} if key is None else {"Authorization": f"Bearer {key}"})
                for key in (None, shown, f"{TOKEN}x", operator, TOKEN)
            ]
            assert [each.status_code for each in answers] == [401, 403, 403, 200, 200]
        described = (await running.client.get("/openapi.json")).json()["paths"]
        assert described["/fleet"]["get"]["security"] == [{"operator": []}, {}]


async def test_alternatives_are_charged_as_often(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as running:
        shown, _ = await new_key(running, chars_per_day=100)
        body = {"text": "x" * 20, "source_lang": "en", "target_lang": "de", "alternatives": 3}
        headers = {"Authorization": f"Bearer {shown}"}
        first = await running.client.post("/translate", json=body, headers=headers)
        assert (first.status_code, await used_today(running, shown)) == (200, 80)
        assert (await running.client.post("/translate", json=body, headers=headers)).status_code == 429
        one.translate.problem = (422, "invalid-request")
        refused = await running.client.post("/translate", json={**body, "text": "x", "context": "y"}, headers=headers)
        assert (refused.status_code, await used_today(running, shown)) == (422, 80)
