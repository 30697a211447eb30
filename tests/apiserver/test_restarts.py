"""When an engine is started next, and what is told of it, on an injected clock."""

from __future__ import annotations

from random import Random

import pytest

from apiserver.hosting.restart_backoff import (
    LONGEST_TOLD_SECONDS,
    MAX_BACKOFF_SECONDS,
    WELL_AFTER_SECONDS,
    RestartBackoff,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Steady(Random):
    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


def restarts_of(clock: Clock, *, took: float | None = None) -> RestartBackoff:
    """Return the starts of a model whose first one took that long."""
    restarts = RestartBackoff(1.0, clock, Steady())
    if took is not None:
        restarts.begin()
        clock.now += took
        restarts.end(ready=True)
    return restarts


def test_the_back_off_doubles_up_to_its_limit() -> None:
    restarts = restarts_of(Clock())
    assert [restarts.put_off() for _ in range(8)] == [1, 2, 4, 8, 16, *[MAX_BACKOFF_SECONDS] * 3]


def test_a_start_is_due_at_once_and_then_after_its_pause() -> None:
    clock = Clock()
    restarts = restarts_of(clock)
    assert restarts.due
    restarts.put_off()
    assert not restarts.due
    clock.now += 1
    assert restarts.due


@pytest.mark.parametrize(("lived", "pause"), [(WELL_AFTER_SECONDS - 1, 2), (WELL_AFTER_SECONDS + 1, 1)])
def test_only_an_engine_that_was_well_for_long_begins_with_the_short_pause_again(lived: float, pause: float) -> None:
    clock = Clock()
    restarts = restarts_of(clock)
    restarts.put_off()
    restarts.begin()
    restarts.end(ready=True)
    clock.now += lived
    assert restarts.put_off() == pause


def test_nothing_is_told_before_a_start_was_measured() -> None:
    clock = Clock()
    restarts = restarts_of(clock)
    assert restarts.seconds_left() is None
    restarts.begin()
    clock.now += 3
    restarts.end(ready=False)
    assert restarts.seconds_left() is None


def test_what_is_told_is_the_pause_and_the_last_start_less_what_is_over_and_whole_seconds() -> None:
    clock = Clock()
    restarts = restarts_of(clock, took=10.2)
    assert restarts.seconds_left() == 12, "it died in this moment: 1 s and 10.2 s"
    restarts.put_off()
    clock.now += 0.5
    assert restarts.seconds_left() == 11
    clock.now += 5
    assert restarts.seconds_left() == 11, "due, but another engine is starting"
    restarts.begin()
    clock.now += 4
    assert restarts.seconds_left() == 7
    clock.now += 100
    assert restarts.seconds_left() == 1


def test_what_is_told_is_bounded() -> None:
    restarts = restarts_of(Clock(), took=1000)
    restarts.put_off()
    assert restarts.seconds_left() == LONGEST_TOLD_SECONDS
