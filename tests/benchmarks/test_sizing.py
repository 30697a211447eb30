"""How many replicas: what was measured, what is simulated with it, and the search."""

# ruff: noqa: S311 - a simulation

from __future__ import annotations

import json
from random import Random

import pytest
from pydantic import ValidationError

from benchmarks.sizing.planner import estimate, plan, report
from benchmarks.sizing.replica_model import LengthMix, ReplicaMeasurements, ReplicaModel
from benchmarks.sizing.simulation import FleetRun

# 50 tokens in one segment each: an engine that makes a step in 10 ms alone, and 16 segments' in 16 ms.
MIX = [(1.0, 184), (1.0, 80)]
STEPS = [(1.0, 0.010), (16.0, 0.016)]


def service(**changes: object) -> ReplicaModel:
    values = {"what": "test", "most_segments": 16, "mix": MIX, "steps": STEPS, "overhead_seconds": 0.0}
    return ReplicaModel.of(ReplicaMeasurements.model_validate({**values, **changes}))


def test_a_step_lies_on_the_line_between_measured_ones() -> None:
    own = service()
    assert [own.step(running) for running in (1, 16, 99)] == [0.010, 0.016, 0.016]
    assert own.step(6) == pytest.approx(0.012)


@pytest.mark.parametrize("at_once", [1, 3, 6, 30])
def test_a_simulated_closed_loop_does_what_the_measured_one_did(at_once: int) -> None:
    measured = [(1, 2.9), (4, 10.0), (8, 18.0), (32, 24.0)]
    own = service(steps=[], closed=measured, mix=[(1.0, 100)], most_segments=8)
    run = FleetRun(own, 1, Random(1), 2.0)
    run.closed(at_once, 42.0)
    done = len(run.latencies) / 40
    below = [rate for count, rate in measured if count <= at_once]
    above = [rate for count, rate in measured if count >= at_once]
    assert max(below) * 0.93 <= done <= min([*above, 24.0]) * 1.07


def test_alone_a_request_takes_its_tokens_steps() -> None:
    run = FleetRun(service(mix=[(1.0, 100)], overhead_seconds=0.005), 3, Random(1), 0.0)
    run.open(0.01, 20)
    assert run.latencies == pytest.approx([29 * 0.010 + 0.005] * 20)


def test_the_smallest_fleet_is_found_and_more_work_takes_more() -> None:
    own = service()
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


def test_a_promise_that_no_fleet_keeps_is_given_up() -> None:
    assert plan(service(), 10.0, 0.1, 20) is None


def test_overloaded_fleets_are_not_simulated() -> None:
    own = service()
    assert estimate(own, 1, 2 * own.capacity).p95 == float("inf")


def test_lengths_are_drawn_by_their_shares() -> None:
    mix = LengthMix.of([(3.0, 10), (1.0, 20)])
    rng = Random(1)
    drawn = [mix.draw(rng) for _ in range(2000)]
    assert drawn.count(10) == pytest.approx(1500, rel=0.05)
    assert mix.mean([10, 20]) == pytest.approx(12.5)


def test_the_overload_benchmarks_results_can_be_read() -> None:
    loads = [{"load": "closed, 8 at once", "goodput": 40.0}, {"load": "open, 1×", "goodput": 30.0}]
    found = ReplicaMeasurements.of_overload(json.dumps({"machine": "here", "loads": loads}), 16, [(1.0, 80)])
    assert (found.what, found.closed) == ("here", [(8, 40.0)])


@pytest.mark.parametrize("changes", [{"closed": [(1, 2.0)]}, {"steps": []}, {"mix": []}])
def test_what_was_measured_is_said_in_one_way(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        service(**changes)
