"""Sizing: one replica, a fleet, and the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from benchmarks.sizing.__main__ import plan, report
from benchmarks.sizing.fleet_model import estimate, likelihoods
from benchmarks.sizing.replica_model import ReplicaMeasurements
from tests.benchmarks.sizing.models import replica_model


def test_throughput_is_between_measured_steps() -> None:
    own = replica_model(mix=[(1.0, 100)], steps=[(1.0, 0.010), (16.0, 0.016), (99.0, 0.001)])
    alone, full = 1 / (29 * 0.010), 16 / (29 * 0.016)
    assert [own.throughput(number) for number in (0, 1, 16, 99)] == pytest.approx([0, alone, full, full])
    assert own.throughput(8.5) == pytest.approx((alone + full) / 2)
    assert own.capacity == pytest.approx(full)


@pytest.mark.parametrize("at_once", [1, 3, 6, 30])
def test_throughput_matches_the_measured_closed_loop(at_once: int) -> None:
    measured = [(1, 2.9), (4, 10.0), (8, 18.0), (32, 24.0)]
    own = replica_model(steps=[], closed=measured, mix=[(1.0, 100)], most_segments=8)
    below = [rate for count, rate in measured if count <= at_once]
    above = [rate for count, rate in measured if count >= at_once]
    assert max(below) * 0.93 <= own.throughput(at_once) <= min([*above, 24.0]) * 1.07


def test_requests_beyond_the_places_wait() -> None:
    own = replica_model(mix=[(1.0, 100)])
    alone, full, waiting = (own.seconds(100, requests) for requests in (1, 16, 32))
    assert alone == pytest.approx(29 * 0.010)
    assert full == pytest.approx(29 * 0.016)
    assert waiting == pytest.approx(2 * full)


def test_measurements_of_overload_results(tmp_path: Path) -> None:
    loads = [{"load": "closed, 8 at once", "goodput": 40.0}, {"load": "open, 1×", "goodput": 30.0}]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"machine": "here", "loads": loads}))
    found = ReplicaMeasurements.read(file)
    assert (found.what, found.closed) == ("here", [(8, 40.0)])
    file.write_text(json.dumps({"what": "steps", "most_segments": 4, "mix": [[1, 80]], "steps": [[1, 0.01]]}))
    assert ReplicaMeasurements.read(file).most_segments == 4


@pytest.mark.parametrize("changes", [{"closed": [(1, 2.0)]}, {"steps": []}, {"mix": []}])
def test_measurements_need_closed_loops_or_steps(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        replica_model(**changes)


def test_single_request_takes_its_tokens_steps() -> None:
    found = estimate(replica_model(mix=[(1.0, 100)], overhead_seconds=0.005), 3, 0.01)
    assert found[2:] == pytest.approx([29 * 0.010 + 0.005] * 3)


def test_load_and_few_replicas_make_requests_slower() -> None:
    own = replica_model()
    by_rate = [estimate(own, 4, part * 4 * own.capacity).p95 for part in (0.1, 0.5, 0.8, 0.95)]
    by_size = [estimate(own, size, 0.9 * 2 * own.capacity).p99 for size in (2, 3, 8)]
    assert by_rate == sorted(set(by_rate))
    assert by_size == sorted(set(by_size), reverse=True)
    found = estimate(own, 4, 0.8 * 4 * own.capacity)
    assert found.p50 <= found.p95 <= found.p99


def test_idle_and_busy_replica_are_as_likely_as_in_theory() -> None:
    # One place, so a queue with one server: each number of requests is as many times likelier as the one before.
    own = replica_model(most_segments=1, steps=[(1.0, 0.01)], mix=[(1.0, 80)])
    numbers = likelihoods(own, 1, 0.5 * own.capacity)
    assert numbers[:4] == pytest.approx([1.0, 0.5, 0.25, 0.125])
    assert numbers[-1] < 1e-12


def test_overloaded_fleets_have_no_latency() -> None:
    own = replica_model()
    assert estimate(own, 1, 2 * own.capacity).p95 == float("inf")


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
