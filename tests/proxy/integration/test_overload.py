"""A fleet that is full: refused at once, by the proxy itself, the least urgent first; replicas learn who asks."""

from __future__ import annotations

from typing import Any

from proxy.keys.caller import Caller
from tests.proxy.proxies import proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


def model_reports(interactive: float, bulk: float) -> dict[str, Any]:
    """Return what a model reports that is so full, of 10 units each; standard requests find what bulk does."""
    ahead = {"interactive": interactive, "standard": bulk, "bulk": bulk}
    return {
        "model-fake": {
            "running": 1,
            "waiting": 0,
            "limit": 8,
            "steps": 1,
            "step_age_s": 0.1,
            "kv_used": 0.0,
            "revision": "r",
            "rate": 2.0,
            "room": {name: {"ahead": units, "callers": units, "limit": 10} for name, units in ahead.items()},
        }
    }


async def test_full_fleet_refuses_without_asking_a_replica() -> None:
    fake = FakeReplica("en>de")
    fake.models = model_reports(interactive=10, bulk=10)
    async with replicas(fake), proxy([fake]) as running:
        status, problem, headers = await running.translate("Hello")
        assert (status, problem["code"]) == (503, "overloaded")
        assert 1 <= int(headers["retry-after"]) <= 60
        assert fake.requests == []
        metrics = (await running.client.get("/metrics")).text
        assert 'pairway_proxy_shed_total{pair="en-de",priority="interactive",reason="full"} 1.0' in metrics
        assert (await running.client.get("/fleet")).json()["replicas"][0]["report"]["models"]["model-fake"]["rate"] == 2


async def test_bulk_is_refused_before_interactive_requests() -> None:
    fake = FakeReplica("en>de")
    fake.models = model_reports(interactive=2, bulk=10)
    async with replicas(fake), proxy([fake]) as running:
        assert (await running.translate("Hello", x_priority="bulk"))[0] == 503
        assert (await running.translate("Hello", x_priority="Standard"))[0] == 503
        assert (await running.translate("Hello"))[0] == 200
        assert [each.headers["x-priority"] for each in fake.requests] == ["interactive"]
        tag = Caller("address 127.0.0.1").tag
        assert [each.headers["x-pairway-caller"] for each in fake.requests] == [tag]


async def test_unknown_priority_is_rejected_by_name() -> None:
    async with replicas(fake := FakeReplica("en>de")), proxy([fake]) as running:
        status, problem, _ = await running.translate("Hello", x_priority="urgent")
        assert (status, problem["code"]) == (422, "invalid-request")
        assert "X-Priority" in problem["detail"]
        assert "interactive, standard, bulk" in problem["detail"]


async def test_list_is_refused_whole_when_one_language_is_full() -> None:
    german, french = FakeReplica("de>en", name="fake"), FakeReplica("fr>en", name="french")
    german.models = model_reports(interactive=10, bulk=10)
    async with replicas(german, french), proxy([german, french]) as running:
        texts = ["Das ist ein schönes altes Haus am Fluss.", "C'est une belle vieille maison au bord de l'eau."]
        status, problem, _ = await running.translate(texts, source="auto", target="en")
        assert (status, problem["code"]) == (503, "overloaded")
        assert german.requests == french.requests == []


async def test_capacity_returns_with_the_next_report() -> None:
    fake = FakeReplica("en>de")
    fake.models = model_reports(interactive=10, bulk=10)
    async with replicas(fake), proxy([fake]) as running:
        assert (await running.translate("Hello"))[0] == 503
        fake.models = model_reports(interactive=0, bulk=0)

        async def served() -> bool:
            return (await running.translate("Hello"))[0] == 200

        await wait_until(served, 5, "capacity")
