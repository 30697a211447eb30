"""When an engine starts next, and in how many seconds it should serve."""

from __future__ import annotations

from random import Random

import pytest

from apiserver.hosting.restart_backoff import (
    HEALTHY_AFTER_SECONDS,
    MAX_BACKOFF_SECONDS,
    MAX_RETRY_SECONDS,
    RestartBackoff,
)
from tests.support.clock import HandClock


class Steady(Random):  # noqa: S311 - jitter, no secret
    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


def restarts_of(clock: HandClock, *, took: float | None = None) -> RestartBackoff:
    """Return the starts of a model whose first one took that long."""
    restarts = RestartBackoff(1.0, clock, Steady())
    if took is not None:
        restarts.start_begun()
        clock.now += took
        restarts.start_ended(ready=True)
    return restarts


def test_backoff_doubles_up_to_its_limit() -> None:
    restarts = restarts_of(HandClock())
    assert [restarts.schedule() for _ in range(8)] == [1, 2, 4, 8, 16, *[MAX_BACKOFF_SECONDS] * 3]


def test_first_start_is_due_at_once_and_others_after_a_pause() -> None:
    clock = HandClock()
    restarts = restarts_of(clock)
    assert restarts.is_due
    restarts.schedule()
    assert not restarts.is_due
    clock.now += 1
    assert restarts.is_due


@pytest.mark.parametrize(("lived", "pause"), [(HEALTHY_AFTER_SECONDS - 1, 2), (HEALTHY_AFTER_SECONDS + 1, 1)])
def test_backoff_resets_only_after_a_long_healthy_time(lived: float, pause: float) -> None:
    clock = HandClock()
    restarts = restarts_of(clock)
    restarts.schedule()
    restarts.start_begun()
    restarts.start_ended(ready=True)
    clock.now += lived
    assert restarts.schedule() == pause


def test_seconds_left_is_unknown_before_a_first_start() -> None:
    clock = HandClock()
    restarts = restarts_of(clock)
    assert restarts.seconds_left() is None
    restarts.start_begun()
    clock.now += 3
    restarts.start_ended(ready=False)
    assert restarts.seconds_left() is None


def test_seconds_left_adds_pause_and_last_start() -> None:
    clock = HandClock()
    restarts = restarts_of(clock, took=10.2)
    assert restarts.seconds_left() == 12, "it died in this moment: 1 s and 10.2 s"
    restarts.schedule()
    clock.now += 0.5
    assert restarts.seconds_left() == 11
    clock.now += 5
    assert restarts.seconds_left() == 11, "due, but another engine is starting"
    restarts.start_begun()
    clock.now += 4
    assert restarts.seconds_left() == 7
    clock.now += 100
    assert restarts.seconds_left() == 1


def test_seconds_left_is_bounded() -> None:
    restarts = restarts_of(HandClock(), took=1000)
    restarts.schedule()
    assert restarts.seconds_left() == MAX_RETRY_SECONDS
