"""The verdict of /status beside failing requests: API servers that answer 500, and callers who chose their failures."""

from __future__ import annotations

import time
from typing import Final

import pytest

from tests.conftest import RedisServer
from tests.pages.tabs import Tab
from tests.proxy.proxies import RunningProxy, failing_requests, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.pages, pytest.mark.xdist_group("pages")]

REQUESTS: Final = 40
# The figures of ten seconds are closed and read.
FIGURES_SECONDS: Final = 60.0
LOW_CONFIDENCE: Final = {"code": "low-confidence", "message": "Its confidence is lower than min_confidence, 1."}


async def counts(running: RunningProxy, kind: str) -> int:
    traffic = (await running.client.get("/status/data")).json()["traffic"]
    return sum(filter(None, traffic["requests"][kind]))


async def test_failing_requests_turn_the_verdict_red(tab: Tab, redis: RedisServer) -> None:
    fake = FakeReplica("en>de", name="one")
    async with replicas(fake), proxy([fake], redis.url) as running:
        await wait_until(lambda: running.context.fleet.registry.redis_error is None, 20)
        await tab.open(f"{running.url}/status")
        await tab.sees("#fleet-status.ok", "All is well")
        await tab.sees("#success-rate", "no requests")
        await tab.sees("#chart-reasons", "There were no requests.")
        fake.translate.problem = (500, "internal")
        async with failing_requests(running):
            await tab.sees(".issues .bad", "requests of the last minute failed")
            await tab.sees(".issues .bad", "replica-failed")
            await tab.sees(".issues .bad", "since")
            await tab.sees("#fleet-status.bad")
            await tab.sees("#success-rate.bad", "0% (requests:")
            await tab.until("document.title.startsWith('(')")
            assert await tab.axe() == []
            await tab.click('.issues li:has-text("requests of the last minute") .runbook')
            await tab.sees("#runbook-dialog article")


async def test_failures_that_callers_chose_leave_it_green(tab: Tab, redis: RedisServer) -> None:
    fake = FakeReplica("en>de", name="one")
    fake.translate.problem, fake.translate.facts = (502, "unusable-output"), {"warnings": [LOW_CONFIDENCE]}
    asked = {"source_lang": "en", "target_lang": "de", "min_confidence": 1}
    async with replicas(fake), proxy([fake], redis.url) as running:
        await wait_until(lambda: running.context.fleet.registry.redis_error is None, 20)
        await tab.open(f"{running.url}/status")
        for number in range(REQUESTS):
            answer = await running.client.post("/translate", json={"text": f"text {number}", **asked})
            assert answer.status_code == 502

        async def are_counted() -> bool:
            return await counts(running, "client") == REQUESTS

        await wait_until(are_counted, FIGURES_SECONDS)
        await tab.sees("#chart-reasons", "unusable-output (client)")
        await tab.sees("#chart-reasons .line[style*='--quiet-line']")
        await tab.sees("#fleet-status.ok", "All is well")
        await tab.sees("#success-rate", "no requests")
        assert await counts(running, "failed") == 0


async def test_replica_says_since_when_and_how_long_it_was_away(tab: Tab) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two), proxy([one, two]) as running:
        await running.sees(two, "ready")
        await wait_until(lambda: running.context.status.monitor.issue_times.is_settled, 20)
        await tab.open(f"{running.url}/status")
        await tab.sees(f'tr.row:has-text("{two.url[7:]}")', "ready")
        await two.stop()
        await tab.sees(f'tr.row:has-text("{two.url[7:]}")', "since")
        await tab.sees(".issues li", f"{two.url} is down")
        await tab.sees(f'.issues li:has-text("{two.url} is down")', "since")
        await tab.sees("#chart-requests .chart-time", "latest")
        two.name = "three"
        await two.start()
        await tab.sees("ol.events", f"{two.url} came back, after")
        await tab.click(f'tr.row:has-text("{two.url[7:]}") .opener')
        await tab.sees(".details", "restarts seen: 1")


async def test_engine_that_died_says_that_it_is_ready_again(tab: Tab) -> None:
    fake = FakeReplica("en>de", name="one")
    async with replicas(fake), proxy([fake]) as running:
        await running.sees(fake, "ready")
        await wait_until(lambda: running.context.status.monitor.issue_times.is_settled, 20)
        await tab.open(f"{running.url}/status")
        fake.engine_died_at, fake.state, fake.pairs["en>de"] = time.time(), "starting", False
        await tab.sees(".issues li", f"An engine of {fake.url} died")
        await tab.gone(".issues >> text=Ready again")
        fake.state, fake.pairs["en>de"] = "ready", True
        await tab.sees('.issues li:has-text("An engine of")', "Ready again since")
