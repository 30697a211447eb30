"""The proxy's choice against random, round robin and least connections, on a simulated fleet of 1,000 replicas."""

# ruff: noqa: S311 - a simulation

from __future__ import annotations

import math
from random import Random

import pytest

from tests.proxy.balancing.fleet_simulation import (
    FAILING,
    STRATEGIES,
    TWO_SPEED,
    Fleet,
    Kind,
    Outcome,
    fault_shares,
    run,
)

OTHERS = [name for name in STRATEGIES if name != "Pairway"]


def outcomes(*, sick: bool, seconds: float, warm_up: float) -> tuple[Fleet, dict[str, Outcome]]:
    fleet = Fleet.mixed(1000, Random(1), sick=sick)
    return fleet, {name: run(name, fleet, 0.4, 1, seconds, warm_up) for name in STRATEGIES}


def test_p99_of_mixed_speeds_beats_other_strategies() -> None:
    _, by_name = outcomes(sick=False, seconds=1.9, warm_up=1.0)
    for name in OTHERS:
        assert by_name["Pairway"].percentile(0.99) < by_name[name].percentile(0.99), name
    assert all(each.unanswered == 0 for each in by_name.values())


def test_slow_and_failing_replicas_get_few_requests() -> None:
    fleet, by_name = outcomes(sick=True, seconds=1.6, warm_up=0.6)
    ours = by_name["Pairway"]
    for name in OTHERS:
        assert ours.percentile(0.99) < by_name[name].percentile(0.99), name
    assert ours.unanswered == 0
    # Their fair share is one in a hundred each.
    assert ours.share(fleet.failing) < 0.005
    assert ours.share(fleet.slow) < 0.005
    assert ours.attempts_per_request < 1.01
    assert by_name["least connections"].share(fleet.failing) > 0.3, "what the penalty is for"


@pytest.mark.parametrize(
    ("fault", "at_most"),
    [(Kind(TWO_SPEED / 75), 0.04), (Kind(TWO_SPEED / 1e6), 0.04), (FAILING, 0.05)],
    ids=["slow", "hung", "failing"],
)
def test_faulty_one_of_two_gets_next_to_nothing(fault: Kind, at_most: float) -> None:
    during = [fault_shares("Pairway", fault, 40, seed)[0] for seed in range(3)]
    assert max(during) <= at_most


def test_share_of_a_slower_replica_returns_without_a_canary() -> None:
    after = [fault_shares("Pairway", Kind(TWO_SPEED / 4), 40, seed)[1] for seed in range(5)]
    assert math.fsum(after) / len(after) > 0.3
