"""A fleet on a simulated clock."""

# ruff: noqa: S311 - a simulation

from __future__ import annotations

from random import Random

import pytest

from benchmarks.sizing.simulation import FleetRun
from tests.benchmarks.sizing.models import replica_model


@pytest.mark.parametrize("at_once", [1, 3, 6, 30])
def test_simulated_closed_loop_matches_the_measured_one(at_once: int) -> None:
    measured = [(1, 2.9), (4, 10.0), (8, 18.0), (32, 24.0)]
    own = replica_model(steps=[], closed=measured, mix=[(1.0, 100)], most_segments=8)
    run = FleetRun(own, 1, Random(1), 2.0)
    run.closed(at_once, 42.0)
    done = len(run.latencies) / 40
    below = [rate for count, rate in measured if count <= at_once]
    above = [rate for count, rate in measured if count >= at_once]
    assert max(below) * 0.93 <= done <= min([*above, 24.0]) * 1.07


def test_single_request_takes_its_tokens_steps() -> None:
    run = FleetRun(replica_model(mix=[(1.0, 100)], overhead_seconds=0.005), 3, Random(1), 0.0)
    run.open(0.01, 20)
    assert run.latencies == pytest.approx([29 * 0.010 + 0.005] * 20)
