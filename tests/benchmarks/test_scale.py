"""The scale benchmark's fleet on paper, and its figures."""

from __future__ import annotations

from benchmarks.harness.targets import Checks
from benchmarks.scale.fleet import FleetShape, SimulatedFleet, number_of
from benchmarks.scale.measurements import FleetMeasurements, Spread, Sweep, by_kind, report
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot


def served(fleet: SimulatedFleet) -> Snapshot:
    urls = enumerate(fleet.urls(80))
    return Snapshot.of((Replica.reported(url, fleet.report(number), 1.0) for number, url in urls), ())


def test_specialists_share_one_pair_and_each_other_pair_is_served_by_a_few() -> None:
    fleet = SimulatedFleet(100, 300, FleetShape.SPECIALISTS)
    ready = served(fleet).ready
    assert len(ready) == 300
    assert len(ready[fleet.common]) == 100
    assert {len(urls) for pair, urls in ready.items() if pair != fleet.common} == {1, 2}


def test_polyglots_serve_everything_and_every_url_is_another() -> None:
    fleet = SimulatedFleet(300, 12, FleetShape.POLYGLOTS)
    assert {len(urls) for urls in served(fleet).ready.values()} == {300}
    assert len(set(fleet.urls(80))) == 300
    assert [number_of(fleet.address(number)) for number in range(300)] == list(range(300))


def test_reports_differ_from_look_to_look_but_not_in_what_is_served() -> None:
    first, second = (SimulatedFleet(3, 5, FleetShape.SPECIALISTS).report(2, look) for look in range(2))
    assert first.pairs == second.pairs
    assert first.models != second.models


def test_a_missed_target_is_said() -> None:
    found = FleetMeasurements(
        "specialists",
        200,
        {"pick, pair served by all": Spread.of([4.0, 6.0, 5.0]), "route": Spread.of([900.0])},
        {"sweep": [Sweep(1.5, 2.0, 0.1)]},
    )
    checks = Checks()
    found.judge(checks)
    assert [check.met for check in checks] == [True, False]
    assert "**missed**" in report([found], checks, "machine")


def test_keys_are_counted_by_kind() -> None:
    sizes = {"p:replica:http://a": 100, "p:replica:http://b": 50, "p:pairs": 7}
    assert by_kind(sizes, "p:") == {"keys replica": 2, "bytes replica": 150, "keys pairs": 1, "bytes pairs": 7}
