"""The fleet in three depths, apart from HTTP: /health, /fleet, and the status page: the worst first, bounded."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from random import Random
from typing import Any

import pytest

from proxy.api.views import fleet_view, replica_view
from proxy.api.views.fleet_view import Fleet, FleetView, Health, StatusView, health
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.admin import FleetAdmin
from proxy.fleet.discovery import Discovery
from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from tests.proxy.fleet.registries import A, B, ProxyParts, proxy_at
from tests.proxy.proxies import RunningProxy, nowhere, proxy
from tests.proxy.samples import models, pair, replica, snapshot

GOOD = replica("http://a", "en>de")
DOWN = GOOD.silent("refused", 1.0, max_misses=1)
NEW = Replica(url="http://new", state="starting", why="not probed yet", probed_at=0)  # pyright: ignore[reportArgumentType]


def rendered(
    fleet: Snapshot,
    *,
    redis_error: str | None = None,
    now: float = 100.0,
    failing: tuple[str, ...] = (),
    services: tuple[ServiceReplicas, ...] = (),
) -> Health:
    local_stats = LocalStats(time.monotonic, Random(1))  # noqa: S311 - picks, not secrets
    for url in failing:
        stats = local_stats.pair_replica_stats(url, pair("en>de"))
        stats.record_failure(stats.breaker.acquire(), "timed out", at_once=True)
    status, body = health(fleet, services, local_stats, redis_error=redis_error, leading=False, uptime=1.26, now=now)
    page = Health.model_validate_json(body)
    assert page.model_dump_json().encode() == body, "the schema that is documented"
    assert page.status == status
    return page


@pytest.mark.parametrize(
    ("fleet", "redis_error", "status"),
    [
        (snapshot(GOOD), None, "ok"),
        (snapshot(GOOD, NEW), None, "ok"),
        (snapshot(GOOD, replica("http://b", "en>de", state="draining")), None, "ok"),
        (snapshot(GOOD), "gone", "degraded"),
        (snapshot(GOOD, DOWN.model_copy(update={"url": "http://b"})), None, "degraded"),
        (snapshot(GOOD, remembered=("en>fr",)), None, "degraded"),
        (snapshot(replica("http://a", "en>de", starting=("en>fr",))), None, "degraded"),
        (snapshot(), None, "down"),
        (snapshot(DOWN), None, "down"),
        (snapshot(DOWN), "gone", "down"),
        (snapshot(remembered=("en>de",)), None, "down"),
        (snapshot(replica("http://a", "en>de", state="draining")), None, "down"),
    ],
)
def test_status_follows_fleet_and_redis(fleet: Snapshot, redis_error: str | None, status: str) -> None:
    assert rendered(fleet, redis_error=redis_error).status == status


def test_replica_line_shows_what_is_known() -> None:
    shown = {each.url: each for each in rendered(snapshot(DOWN, NEW), now=112.34).replicas}
    assert (shown["http://a"].report_age_s, shown["http://a"].why, shown["http://a"].load) == (12.3, "refused", 0)
    assert (shown["http://new"].report_age_s, shown["http://new"].replica_id, shown["http://new"].pairs) == (
        None,
        None,
        {},
    )


def test_report_age_is_never_negative() -> None:
    assert rendered(snapshot(GOOD), now=0.0).replicas[0].report_age_s == 0.0


def test_failing_replicas_degrade_the_status() -> None:
    two = snapshot(GOOD, replica("http://b", "en>de"))
    assert rendered(two, failing=("http://a",)).status == "degraded"
    assert rendered(two, failing=("http://a", "http://b")).status == "down"
    assert rendered(two, failing=("http://a",)).pairs["en-de"].model_dump() == {"ready": 2, "failing": 1, "total": 2}


def test_missing_replicas_degrade_the_status() -> None:
    whole = ServiceReplicas("de", 3, 3)
    assert rendered(snapshot(GOOD), services=(whole,)).status == "ok"
    more = ServiceReplicas("de", 4, 3)
    assert rendered(snapshot(GOOD), services=(more,)).status == "ok"
    page = rendered(snapshot(GOOD), services=(whole, ServiceReplicas("fr", 0, 1)))
    assert page.status == "degraded"
    assert page.services["de"].model_dump() == {"ready": 3, "expected": 3, "learnt": False, "why": None}
    assert (page.services["fr"].ready, page.services["fr"].expected) == (0, 1)
    assert page.services["fr"].why is not None
    assert "python -m proxy fleet expect fr=0" in page.services["fr"].why
    assert rendered(snapshot(DOWN), services=(whole,)).status == "down"


def test_service_without_a_number_says_so_and_degrades_nothing() -> None:
    page = rendered(snapshot(GOOD), services=(ServiceReplicas("de", 0, None),))
    assert page.status == "ok"
    line = {"ready": 0, "expected": None, "learnt": False, "why": "no number stated"}
    assert page.services["de"].model_dump() == line


NOW = 112.34


@pytest.fixture
async def parts() -> AsyncGenerator[ProxyParts]:
    async with proxy_at(nowhere()) as one:
        one.adopt(replica(A, "en>de", starting=("en>fr",)), replica(B, "en>de").silent("refused", 101.0, max_misses=1))
        yield one


@pytest.fixture
def view(parts: ProxyParts) -> FleetView:
    local_stats = LocalStats(time.monotonic, Random(1))  # noqa: S311 - picks, not secrets
    return FleetView(parts.registry, local_stats, NOW)


def shown(view: FleetView) -> Fleet:
    return Fleet.model_validate_json(view.fleet())


def test_replica_line_shows_report_and_pairs(view: FleetView) -> None:
    line, down = shown(view).replicas
    assert (line.url, line.names, line.source, line.state) == (A, [A], "settings", "ready")
    assert line.report is not None
    assert line.report.age_s == 12.3
    assert {label: (pair.ready, pair.why) for label, pair in line.pairs.items()} == {
        "en-de": (True, None),
        "en-fr": (False, "its engine starts"),
    }
    assert line.why == "not ready for en-fr (its engine starts)"
    assert (down.state, down.why) == ("down", "refused")


async def test_changed_shows_the_override_and_its_replicas(parts: ProxyParts, view: FleetView) -> None:
    changed = view.changed(await FleetAdmin(parts.registry, Discovery()).drain(A))
    assert (changed.change.url, changed.change.verdict, changed.shared) == (A, "drained", False)
    assert [(line.url, line.drained, line.why) for line in changed.replicas] == [(A, True, "drained by an operator")]
    assert [line.url for line in shown(view).changes] == [A]


async def test_undone_override_is_not_in_force(parts: ProxyParts, view: FleetView) -> None:
    admin = FleetAdmin(parts.registry, Discovery())
    await admin.drain(A)
    await admin.resume(A)
    assert shown(view).changes == []


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
        assert (down["why"], down["runbook"]) == ("refused", "replica-down")
        assert down["in_flight"] is None
        assert down["reported_at"] < time.time() - 50
        assert (ready["reported_at"], ready["why"], ready["version"]) == (None, None, "1")
        assert ready["models"] == [
            {"name": "m", "running": 0, "waiting": 0, "limit": 64, "steps": 1, "kv_used": 0.0, "revision": "r"}
        ]
        pairs = [(each["pair"], each["level"], each["ready"], each["expected"]) for each in shown["pairs"]]
        assert pairs == [("en-fr", "bad", 0, 2), ("en-de", "warn", 2, 4)]
        assert (shown["status"], shown["can_operate"]) == ("degraded", False)


async def test_last_ready_replica_of_pairs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    async with proxy(URLS, probe_interval=60) as running:
        registry, local_stats = running.context.fleet.registry, running.context.local_stats
        both = replica(URLS[0], "en>de", "en>fr", "en>ja", now=now)
        one, down = replica(URLS[1], "en>de", now=now), replica(URLS[2], "en>fr", now=now)
        registry.update([both, one, down.silent("refused", now, max_misses=1)])
        monkeypatch.setattr(running.context.status.monitor._ring, "minute", lambda: {"en-fr": (4, 1), "en-ja": (2, 0)})  # pyright: ignore[reportPrivateUsage] - closed slots take their time
        shown = show(running)
        sole = {each["url"]: each["sole"] for each in shown["replicas"]}
        assert sole[URLS[0]] == {"pairs": ["en-fr", "en-ja"], "more": 0, "requests": 6}
        assert sole[URLS[1]] == sole[URLS[2]] == {"pairs": [], "more": 0, "requests": 0}
        figures = {each["pair"]: (each["requests"], each["failed"]) for each in shown["pairs"]}
        assert figures == {"en-de": (0, 0), "en-fr": (4, 1), "en-ja": (2, 0)}
        stats = local_stats.pair_replica_stats(URLS[0], pair("en>de"))
        stats.record_failure(stats.breaker.acquire(), "timed out", at_once=True)
        monkeypatch.setattr(fleet_view, "MAX_SOLE_PAIRS", 1)
        sole = {each["url"]: each["sole"]["pairs"] for each in show(running)["replicas"]}
        assert (sole[URLS[0]], sole[URLS[1]]) == (["en-fr"], ["en-de"]), "the other one fails"


async def test_pair_without_a_ready_replica_names_its_drained_ones() -> None:
    async with proxy(URLS, probe_interval=60) as running:
        now = time.time()
        registry = running.context.fleet.registry
        registry.update([replica(URLS[0], "en>de", now=now), replica(URLS[1], "en>fr", now=now)])
        await running.context.fleet.admin.drain(URLS[0])
        shown = {each["pair"]: (each["ready"], each["drained"]) for each in show(running)["pairs"]}
        assert shown == {"en-de": (0, [URLS[0]]), "en-fr": (1, [])}


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
        monkeypatch.setattr(fleet_view, name, most)
    for name, most in (("MAX_PAIRS_OF_REPLICA", 1), ("MAX_WHY_CHARS", 3)):
        monkeypatch.setattr(replica_view, name, most)
    async with proxy(URLS, probe_interval=60) as running:
        adopt(running)
        shown = show(running)
        assert [each["url"] for each in shown["replicas"]] == [URLS[4], URLS[3]]
        assert (shown["more_replicas"], shown["more_pairs"]) == (3, 1)
        assert [each["pair"] for each in shown["pairs"]] == ["en-fr"]
        assert shown["replicas"][0]["why"] == "ref"


async def test_times_name_the_last_sweep() -> None:
    async with proxy(URLS, probe_interval=60) as running:
        running.context.fleet.registry.swept_at = 1000.0
        found = json.loads(fleet_view.LiveStatus(running.context).times(0.0))
        assert found["known_at"] == 1060, "when the next was due"
        assert abs(found["now"] - time.time()) < 60


async def test_status_is_known_no_later_than_its_rendering() -> None:
    async with proxy(URLS, probe_interval=60) as running:
        running.context.fleet.registry.swept_at = time.time() + 3600
        found = json.loads(fleet_view.LiveStatus(running.context).times(20.0))
        assert found["now"] - found["known_at"] == pytest.approx(20, abs=0.2)
