"""The JSON of /fleet, apart from HTTP."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from random import Random

import pytest

from proxy.api.views.fleet_view import Fleet, FleetView
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.admin import FleetAdmin
from proxy.fleet.discovery import Discovery
from tests.proxy.fleet.registries import A, B, ProxyParts, proxy_at
from tests.proxy.proxies import nowhere
from tests.proxy.samples import replica

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


async def shown(view: FleetView) -> Fleet:
    return Fleet.model_validate_json(await view.fleet())


async def test_replica_line_shows_report_and_pairs(view: FleetView) -> None:
    line, down = (await shown(view)).replicas
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
    assert [line.url for line in (await shown(view)).changes] == [A]


async def test_undone_override_is_not_in_force(parts: ProxyParts, view: FleetView) -> None:
    admin = FleetAdmin(parts.registry, Discovery())
    await admin.drain(A)
    await admin.resume(A)
    assert (await shown(view)).changes == []
