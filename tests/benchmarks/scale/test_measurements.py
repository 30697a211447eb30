"""Targets and tables of the scale benchmark."""

from __future__ import annotations

from benchmarks.harness.report import Checks
from benchmarks.scale.measurements import FleetMeasurements, Spread, Sweep, by_kind, report


def test_missed_target_is_reported() -> None:
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
