"""The plan: the search for the smallest fleet."""

from __future__ import annotations

from benchmarks.sizing.__main__ import estimate, plan, report
from tests.benchmarks.sizing.models import replica_model


def test_plan_finds_the_smallest_fleet() -> None:
    own = replica_model()
    found = plan(own, 60.0, 1.0, 100)
    assert found is not None
    least, spare = found
    assert least.p95 <= 1.0 < estimate(own, least.replicas - 1, 60.0).p95
    assert spare.replicas == least.replicas + 1
    assert spare.p95 <= least.p95
    twice = plan(own, 120.0, 1.0, 100)
    assert twice is not None
    assert least.replicas < twice.least.replicas <= 2 * least.replicas
    assert f"| {spare.replicas} |" in report(own, found, 60.0, 1.0)


def test_plan_gives_up_at_an_impossible_p95() -> None:
    assert plan(replica_model(), 10.0, 0.1, 20) is None


def test_overloaded_fleets_are_not_simulated() -> None:
    own = replica_model()
    assert estimate(own, 1, 2 * own.capacity).p95 == float("inf")
