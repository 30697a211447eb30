"""When shadow traffic pauses: without a baseline, and after callers became slower beside it."""

from __future__ import annotations

import pytest

from apiserver.shadowing.slowdown_monitor import (
    MAX_PAUSE_SECONDS,
    MAX_SAMPLES,
    MAX_SLOWDOWN,
    MIN_PAUSE_SECONDS,
    MIN_SAMPLES,
    SlowdownMonitor,
)
from tests.apiserver.scheduling.hand_clock import HandClock

USUAL = 0.1
SLOW = USUAL * MAX_SLOWDOWN * 1.1


class Requests:
    """A monitor on a clock that a test sets."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.monitor = SlowdownMonitor(self.clock)

    def alone(self, count: int = MIN_SAMPLES, seconds: float = USUAL) -> None:
        for _ in range(count):
            self.monitor.note(seconds, is_beside=False)

    def beside(self, count: int = MIN_SAMPLES, seconds: float = USUAL) -> None:
        for _ in range(count):
            self.monitor.note(seconds, is_beside=True)

    def pause(self) -> float:
        """Return how long no shadow request is allowed, although there is a baseline."""
        self.alone()
        began = self.clock.now
        while not self.monitor.allows:
            self.clock.now += 0.5
        return self.clock.now - began


def test_monitor_allows_nothing_without_a_baseline() -> None:
    requests = Requests()
    assert not requests.monitor.allows
    requests.alone(MIN_SAMPLES - 1)
    requests.beside(10 * MAX_SAMPLES)  # no baseline to compare them with
    assert not requests.monitor.allows
    requests.alone(1)
    assert requests.monitor.allows


def test_callers_of_equal_speed_go_on_until_the_next_baseline() -> None:
    requests = Requests()
    requests.alone()
    requests.beside(MAX_SAMPLES - 1, USUAL * MAX_SLOWDOWN * 0.99)
    assert requests.monitor.allows
    requests.beside(1)
    assert not requests.monitor.allows
    assert requests.pause() == 0


def test_slower_callers_pause_it_longer_each_time() -> None:
    requests = Requests()
    pauses: list[float] = []
    for _ in range(6):
        requests.alone()
        requests.beside(MIN_SAMPLES, SLOW)
        assert not requests.monitor.allows
        pauses.append(requests.pause())
    assert pauses[:3] == [MIN_PAUSE_SECONDS, 2 * MIN_PAUSE_SECONDS, 4 * MIN_PAUSE_SECONDS]
    assert pauses[-1] == MAX_PAUSE_SECONDS


def test_good_turn_shortens_the_next_pause() -> None:
    requests = Requests()
    requests.alone()
    requests.beside(MIN_SAMPLES, SLOW)
    requests.pause()
    requests.beside(MAX_SAMPLES)
    requests.alone()
    requests.beside(MIN_SAMPLES, SLOW)
    assert requests.pause() == MIN_PAUSE_SECONDS


@pytest.mark.parametrize("outlier", [0.0, 1e9])
def test_single_outliers_pause_nothing(outlier: float) -> None:
    requests = Requests()
    requests.alone(MIN_SAMPLES - 5)
    requests.alone(5, outlier)
    requests.beside(MIN_SAMPLES - 5)
    requests.beside(5, 1e9)
    assert requests.monitor.allows


def test_baseline_is_bounded_and_recent() -> None:
    requests = Requests()
    requests.alone(10 * MAX_SAMPLES, SLOW * 10)
    requests.alone(MAX_SAMPLES, USUAL)
    requests.beside(MIN_SAMPLES, SLOW)
    assert requests.pause() == MIN_PAUSE_SECONDS
