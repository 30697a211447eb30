"""A fleet as a queue."""

from __future__ import annotations

import pytest

from benchmarks.sizing.fleet_model import estimate, likelihoods
from tests.benchmarks.sizing.models import replica_model


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
