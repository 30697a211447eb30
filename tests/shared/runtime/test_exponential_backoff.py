"""Pauses that double, and start over after a healthy run."""

from __future__ import annotations

import pytest

from shared.runtime.exponential_backoff import ExponentialBackoff


def test_pause_doubles_up_to_the_longest() -> None:
    backoff = ExponentialBackoff(1.0, 10.0, 60.0)
    assert [backoff.end(None) for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    assert backoff.ends == 6


def test_pause_stays_bounded_after_very_many_ends() -> None:
    backoff = ExponentialBackoff(1.0, 10.0, 60.0)
    assert {backoff.end(None) for _ in range(5000)} == {1, 2, 4, 8, 10}


@pytest.mark.parametrize(("served", "pause", "ends"), [(None, 4, 3), (60.0, 4, 3), (60.1, 1, 1)])
def test_only_a_healthy_run_starts_over(served: float | None, pause: float, ends: int) -> None:
    backoff = ExponentialBackoff(1.0, 10.0, 60.0)
    backoff.end(None)
    backoff.end(None)
    assert backoff.next_pause(served) == pause
    assert backoff.end(served) == pause
    assert backoff.ends == ends


def test_next_pause_changes_nothing() -> None:
    backoff = ExponentialBackoff(1.0, 10.0, 60.0)
    assert [backoff.next_pause(None) for _ in range(3)] == [1, 1, 1]
    assert backoff.ends == 0


def test_first_pause_may_be_longer_than_the_longest() -> None:
    backoff = ExponentialBackoff(20.0, 10.0, 60.0)
    assert [backoff.end(None) for _ in range(3)] == [20, 10, 10]
