"""The simulated fleet of the scale benchmark."""

from __future__ import annotations

from benchmarks.scale.fleet import FleetShape, SimulatedFleet, number_of
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot


def served(fleet: SimulatedFleet) -> Snapshot:
    urls = enumerate(fleet.urls(80))
    return Snapshot.of((Replica.reported(url, fleet.report(number), 1.0) for number, url in urls), ())


def test_specialists_share_one_pair() -> None:
    fleet = SimulatedFleet(100, 300, FleetShape.SPECIALISTS)
    ready = served(fleet).ready
    assert len(ready) == 300
    assert len(ready[fleet.common]) == 100
    assert {len(urls) for pair, urls in ready.items() if pair != fleet.common} == {1, 2}


def test_polyglots_serve_everything_at_urls_of_their_own() -> None:
    fleet = SimulatedFleet(300, 12, FleetShape.POLYGLOTS)
    assert {len(urls) for urls in served(fleet).ready.values()} == {300}
    assert len(set(fleet.urls(80))) == 300
    assert [number_of(fleet.address(number)) for number in range(300)] == list(range(300))


def test_reports_differ_in_load_but_not_in_pairs() -> None:
    first, second = (SimulatedFleet(3, 5, FleetShape.SPECIALISTS).report(2, look) for look in range(2))
    assert first.pairs == second.pairs
    assert first.models != second.models
