"""The plan: the search for the smallest fleet."""

from __future__ import annotations

from benchmarks.sizing.__main__ import plan, report
from benchmarks.sizing.fleet_model import estimate
from tests.benchmarks.sizing.models import replica_model


def test_plan_finds_the_smallest_fleet() -> None:
    own = replica_model()
    least, twice = plan(own, 60.0, 1.0, 100), plan(own, 120.0, 1.0, 100)
    assert least is not None
    assert twice is not None
    assert estimate(own, least, 60.0).p95 <= 1.0 < estimate(own, least - 1, 60.0).p95
    assert estimate(own, least + 1, 60.0).p95 <= estimate(own, least, 60.0).p95
    assert least < twice <= 2 * least
    assert f"| {least + 1} | " in report(own, least, 60.0, 1.0)


def test_plan_gives_up_at_an_impossible_p95() -> None:
    assert plan(replica_model(), 10.0, 0.1, 20) is None
