"""The JSON of the status page: the worst first, bounded, the same while nothing changes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from proxy.api.views import replica_view, status_view
from proxy.api.views.status_view import StatusView
from proxy.status.feed import stamped
from tests.proxy.proxies import RunningProxy, proxy
from tests.proxy.samples import models, pair, replica

URLS = [f"http://127.0.0.1:{port}" for port in range(1, 6)]


def show(running: RunningProxy, now: float | None = None) -> dict[str, Any]:
    return json.loads(StatusView(running.context, now or time.time()).render())


def adopt(running: RunningProxy, count: int = 5) -> None:
    """Let the proxy hold replicas in all states, the best first."""
    now = time.time()
    registry = running.context.fleet.registry
    registry.update(
        [
            replica(URLS[0], "en>de", now=now, models=models(ahead=1, limit=8)),
            replica(URLS[1], "en>de", now=now, state="draining"),
            replica(URLS[2], "en>de", starting=("en>fr",), now=now),
            replica(URLS[3], starting=("en>fr",), state="starting", now=now),
            replica(URLS[4], "en>de", now=now - 60).silent("refused", now, max_misses=1),
        ][:count]
    )


async def test_worst_replicas_and_pairs_come_first() -> None:
    async with proxy(URLS, probe_interval=60) as running:
        adopt(running)
        shown = show(running)
        lines = [(each["url"], each["level"], each["cause"]) for each in shown["replicas"]]
        assert lines == [
            (URLS[4], "bad", "down"),
            (URLS[3], "warn", "starting"),
            (URLS[2], "warn", "pairs-missing"),
            (URLS[1], "off", "stopping"),
            (URLS[0], "ok", None),
        ]
        down, *_, ready = shown["replicas"]
        assert (down["why"], down["runbook"]) == ("refused", "a-replica-is-down")
        assert down["in_flight"] is None
        assert down["reported_at"] < time.time() - 50
        assert (ready["reported_at"], ready["why"], ready["version"]) == (None, None, "1")
        assert ready["models"] == [
            {"name": "m", "running": 0, "waiting": 0, "limit": 64, "steps": 1, "kv_used": 0.0, "revision": "r"}
        ]
        pairs = [(each["pair"], each["level"], each["ready"], each["expected"]) for each in shown["pairs"]]
        assert pairs == [("en-fr", "bad", 0, 2), ("en-de", "warn", 2, 4)]
        assert (shown["status"], shown["can_operate"]) == ("degraded", False)


async def test_latency_stays_while_nothing_is_asked() -> None:
    async with proxy(URLS, probe_interval=60) as running:
        adopt(running)
        running.context.local_stats.pair_replica_stats(URLS[0], pair("en>de")).latency.observe(0.25)
        running.context.local_stats.pair_replica_stats(URLS[0], pair("en>fr"))
        shown = {each["url"]: each["latency_s"] for each in show(running, time.time() + 3600)["replicas"]}
        assert (shown[URLS[0]], shown[URLS[2]]) == (0.25, None)


async def test_unchanged_fleet_renders_the_same() -> None:
    async with proxy(URLS, probe_interval=60) as running:
        adopt(running)
        running.context.status.monitor.last_slot = 5
        now = time.time()
        first, second = show(running, now), show(running, now + 0.5)
        assert first == second


async def test_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MAX_REPLICAS", 2), ("MAX_PAIRS", 1)):
        monkeypatch.setattr(status_view, name, most)
    for name, most in (("MAX_PAIRS_OF_REPLICA", 1), ("MAX_WHY_CHARS", 3)):
        monkeypatch.setattr(replica_view, name, most)
    async with proxy(URLS, probe_interval=60) as running:
        adopt(running)
        shown = show(running)
        assert [each["url"] for each in shown["replicas"]] == [URLS[4], URLS[3]]
        assert (shown["more_replicas"], shown["more_pairs"]) == (3, 1)
        assert [each["pair"] for each in shown["pairs"]] == ["en-fr"]
        assert shown["replicas"][0]["why"] == "ref"


def test_stamp_adds_the_time() -> None:
    found = json.loads(stamped(b'{"status":"ok"}'))
    assert abs(found.pop("now") - time.time()) < 60
    assert found == {"status": "ok"}
