"""When a dead server starts again, and when it stays down."""

from __future__ import annotations

import signal

import pytest

from deploy.restart_policy import DEFAULT_RESTART_LIMITS, RestartPolicy
from shared.runtime.exit_codes import EXIT_CONFIG

KILLED = -signal.SIGKILL
HEALTHY = DEFAULT_RESTART_LIMITS.healthy_after


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def policy_with(clock: Clock) -> RestartPolicy:
    return RestartPolicy(DEFAULT_RESTART_LIMITS, clock)


def test_fifth_end_in_a_row_is_final() -> None:
    policy = policy_with(Clock())
    assert [policy.pause_after_end(KILLED) for _ in range(5)] == [1, 2, 4, 8, None]
    assert policy.ends == 5


@pytest.mark.parametrize("ready", [True, False])
def test_wrong_settings_are_final_at_once(ready: bool) -> None:
    clock = Clock()
    policy = policy_with(clock)
    if ready:
        policy.note_ready()
        clock.now += 10 * HEALTHY
    assert policy.pause_after_end(EXIT_CONFIG) is None


@pytest.mark.parametrize("status", [0, 1, 3, -signal.SIGTERM, None])
def test_every_other_end_is_followed_by_a_start(status: int | None) -> None:
    assert policy_with(Clock()).pause_after_end(status) == DEFAULT_RESTART_LIMITS.first_pause


def test_healthy_run_ends_the_row() -> None:
    clock = Clock()
    policy = policy_with(clock)
    for _ in range(20):
        assert policy.pause_after_end(KILLED) == 1
        clock.now += 10
        policy.note_ready()
        clock.now += HEALTHY + 1


def test_time_before_readiness_is_not_healthy() -> None:
    """A model that loads for an hour and then dies has not served."""
    clock = Clock()
    policy = policy_with(clock)
    pauses: list[float | None] = []
    for _ in range(5):
        clock.now += 60 * HEALTHY
        policy.note_ready()
        pauses.append(policy.pause_after_end(KILLED))
    assert pauses[-1] is None


def test_readiness_noted_twice_counts_from_the_first() -> None:
    clock = Clock()
    policy = policy_with(clock)
    policy.pause_after_end(KILLED)
    policy.note_ready()
    clock.now += HEALTHY + 1
    policy.note_ready()
    assert policy.pause_after_end(KILLED) == 1


def test_readiness_of_an_earlier_run_does_not_count() -> None:
    clock = Clock()
    policy = policy_with(clock)
    policy.note_ready()
    clock.now += HEALTHY + 1
    assert policy.pause_after_end(KILLED) == 1
    clock.now += HEALTHY + 1
    assert policy.pause_after_end(KILLED) == 2, "that run was never ready"


def test_reset_allows_as_many_ends_again() -> None:
    policy = policy_with(Clock())
    while policy.pause_after_end(KILLED) is not None:
        pass
    policy.reset()
    assert [policy.pause_after_end(KILLED) for _ in range(5)] == [1, 2, 4, 8, None]
