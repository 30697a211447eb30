"""The JSON of /health and /languages, apart from HTTP."""

from __future__ import annotations

import pytest

from proxy.api.health_view import Health, Languages, health, languages
from proxy.fleet.expected_replicas import ServiceReplicas
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from tests.proxy.samples import replica, snapshot

GOOD = replica("http://a", "en>de")
DOWN = GOOD.silent("refused", 1.0, max_misses=1)
NEW = Replica(url="http://new", state="starting", why="not probed yet", probed_at=0)  # pyright: ignore[reportArgumentType]


def rendered(
    fleet: Snapshot,
    *,
    redis_error: str | None = None,
    now: float = 100.0,
    failing: int = 0,
    services: tuple[ServiceReplicas, ...] = (),
) -> Health:
    status, body = health(
        fleet,
        services,
        redis_error=redis_error,
        leading=False,
        uptime=1.26,
        now=now,
        load=len,
        failing=lambda _: failing,
    )
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
    assert (shown["http://a"].report_age_s, shown["http://a"].why, shown["http://a"].load) == (12.3, "refused", 8)
    assert (shown["http://new"].report_age_s, shown["http://new"].replica_id, shown["http://new"].pairs) == (
        None,
        None,
        {},
    )


def test_report_age_is_never_negative() -> None:
    assert rendered(snapshot(GOOD), now=0.0).replicas[0].report_age_s == 0.0


def test_languages_are_grouped_by_source() -> None:
    fleet = snapshot(replica("http://a", "en>de", "de>en"), remembered=("en>fr",))
    found = Languages.model_validate_json(languages(fleet, None))
    assert [(each.lang, [(to.lang, to.ready) for to in each.targets]) for each in found.languages] == [
        ("de", [("en", True)]),
        ("en", [("de", True), ("fr", False)]),
    ]


def test_failing_replicas_degrade_the_status() -> None:
    two = snapshot(GOOD, replica("http://b", "en>de"))
    assert rendered(two, failing=1).status == "degraded"
    assert rendered(two, failing=2).status == "down"
    assert rendered(two, failing=1).pairs["en-de"].model_dump() == {"ready": 2, "failing": 1, "total": 2}


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
    assert "python -m proxy.fleet expect fr=0" in page.services["fr"].why
    assert rendered(snapshot(DOWN), services=(whole,)).status == "down"


def test_service_without_a_number_says_so_and_degrades_nothing() -> None:
    page = rendered(snapshot(GOOD), services=(ServiceReplicas("de", 0, None),))
    assert page.status == "ok"
    line = {"ready": 0, "expected": None, "learnt": False, "why": "no number stated"}
    assert page.services["de"].model_dump() == line
