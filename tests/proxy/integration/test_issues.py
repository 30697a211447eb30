"""Issues through real proxies: API servers that answer 500, callers' own bounds, several proxies, and a restart."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from proxy.status.summary_store import SummaryStore
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import RunningProxy, failing_requests, fleet_of, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until

# The figures of ten seconds are closed, written and read by the other proxies.
FIGURES_SECONDS = 60.0
LOW_CONFIDENCE = {"code": "low-confidence", "message": "Its confidence is lower than min_confidence, 1."}


async def issues(running: RunningProxy, path: str = "/status/data") -> dict[str, dict[str, Any]]:
    return {each["code"]: each for each in (await running.client.get(path)).json()["issues"]}


async def until_issue(running: RunningProxy, code: str, *, within: float = FIGURES_SECONDS) -> dict[str, Any]:
    async def is_shown() -> bool:
        return code in await issues(running)

    await wait_until(is_shown, within, code)
    return (await issues(running))[code]


async def test_failures_of_all_proxies_are_one_issue(redis: RedisServer) -> None:
    async with fleet_of("en>de", redis_url=redis.url) as (first, fake), proxy([fake], redis.url) as second:
        await wait_until(lambda: first.context.fleet.registry.redis_error is None, 10)
        before = time.time()
        fake.translate.problem = (500, "internal")
        async with failing_requests(first, second):
            for running in (first, second):
                found = await until_issue(running, "requests-failing")
                figures = found["figures"]
                assert found["level"] == "bad"
                assert figures["failed"] == figures["requests"] >= 5
                assert found["since"] >= before
                shown = (await issues(running, "/health"))["requests-failing"]
                assert shown == {"code": "requests-failing", "subject": "", "since": shown["since"]}


async def test_what_callers_chose_is_no_issue() -> None:
    async with fleet_of("en>de") as (running, fake):
        fake.translate.problem, fake.translate.facts = (502, "unusable-output"), {"warnings": [LOW_CONFIDENCE]}
        asked = {"source_lang": "en", "target_lang": "de", "min_confidence": 1}
        answers = [await running.client.post("/translate", json={"text": f"{n}", **asked}) for n in "abcdefghij"]
        assert {each.status_code for each in answers} == {502}
        fake.translate.problem, fake.translate.fault = None, "hang"
        late = {"X-Timeout-Ms": "200"}
        late_ones = (running.translate(f"late {n}", **late) for n in range(10))
        assert {status for status, _, _ in await asyncio.gather(*late_ones)} == {504}

        async def are_counted() -> bool:
            requests = (await running.client.get("/status/data")).json()["traffic"]["requests"]
            return sum(filter(None, requests["client"])) == 20

        await wait_until(are_counted, FIGURES_SECONDS)
        assert "requests-failing" not in await issues(running)
        requests = (await running.client.get("/status/data")).json()["traffic"]["requests"]
        assert not any(requests["failed"])


async def test_issue_is_older_than_a_proxy_that_started_again(redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    store = SummaryStore(redis.url, PREFIX, 5.0)
    async with replicas(one, two):
        async with proxy([one, two], redis.url) as running:
            await running.sees(two, "ready")
            await wait_until(lambda: running.context.status.monitor.issue_times.is_settled, 20)
            before = time.time()
            await two.stop()
            await until_issue(running, "replica-down")

            async def is_shared() -> bool:
                (found,) = await store.read()
                return any(each.code == "replica-down" for each in found.issues)

            await wait_until(is_shared, FIGURES_SECONDS)
            since = (await issues(running))["replica-down"]["since"]
            assert since >= before - 1
        async with proxy([one, two], redis.url) as again:

            async def is_taken_over() -> bool:
                found = (await issues(again)).get("replica-down")
                return found is not None and (found["since"], found["at_least"]) == (since, False)

            await wait_until(is_taken_over, FIGURES_SECONDS)
            assert (await issues(again, "/health"))["replica-down"]["since"] == since
    await store.close()


async def test_without_redis_an_issue_began_before_the_start() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two):
        await two.stop()
        async with proxy([one, two]) as running:
            await running.sees(two, "down")
            started_at = running.context.status.monitor.summary().started_at

            async def is_noted() -> bool:
                found = (await issues(running)).get("replica-down")
                return found is not None and (found["since"], found["at_least"]) == (started_at, True)

            await wait_until(is_noted, 20)
