"""RetryAfter, through the controller: how long refused callers are sent away."""

from __future__ import annotations

from random import Random

from proxy.admission.retry_after import (
    JITTER,
    LATER_PART,
    LONGEST_SECONDS,
    MAX_CALLERS,
    QUIET_SECONDS,
    RETRY_SHARE,
    RetryAfter,
)
from tests.proxy.admission.harness import LIMIT, AdmissionHarness, full_to


def test_wait_begins_when_capacity_returns() -> None:
    harness = AdmissionHarness(full_to(10 * LIMIT, rate=2.0))
    least = (10 * LIMIT - LIMIT) / 2
    assert least <= harness.refused_seconds() <= (least + 1) * (1 + JITTER) + 1


def test_wait_grows_with_what_was_refused() -> None:
    harness = AdmissionHarness(full_to(LIMIT, rate=2.0 / RETRY_SHARE))
    waits = [harness.refused_seconds("alice", f"text {number}") for number in range(20)]
    assert all(1 <= wait <= number / 2 * (1 + JITTER) + 1 for number, wait in enumerate(waits, 1))
    assert waits[-1] >= 10
    assert harness.refused_seconds("bob") <= 2, "bob waits for his own work alone"


def test_excess_is_forgotten_after_a_quiet_time() -> None:
    harness = AdmissionHarness(full_to(LIMIT, rate=2.0 / RETRY_SHARE))
    assert max(harness.refused_seconds("alice", f"text {number}") for number in range(100)) > 45
    harness.local_fleet.now += QUIET_SECONDS / 2
    assert harness.refused_seconds("alice") > 45, "a moment is no end of the load"
    harness.local_fleet.now += QUIET_SECONDS
    assert harness.refused_seconds("alice") <= 2


def test_waits_of_callers_grow_with_their_number() -> None:
    harness = AdmissionHarness(full_to(LIMIT, rate=2.0 / RETRY_SHARE))
    waits = [harness.refused_seconds(f"caller {number}", "x" * 700) for number in range(5)]
    assert waits[-1] > 3 * waits[0], "each gets its part of the rate"


def test_waits_beyond_a_minute_are_spread() -> None:
    harness = AdmissionHarness(full_to(100 * LIMIT, rate=2.0))
    waits = {harness.refused_seconds(f"caller {number}") for number in range(200)}
    assert min(waits) >= LATER_PART * LONGEST_SECONDS
    assert max(waits) == LONGEST_SECONDS
    assert len(waits) > LONGEST_SECONDS / 3


def test_callers_remembered_are_bounded() -> None:
    retry_after = RetryAfter(lambda: 100.0, Random(1))  # noqa: S311 - jitter, no secrets
    for number in range(MAX_CALLERS + 100):
        assert 1 <= retry_after.schedule(f"caller {number}", 1.0, 1.0, 0.0) <= LONGEST_SECONDS
    assert len(retry_after._busy_until) == MAX_CALLERS  # pyright: ignore[reportPrivateUsage] - not to be seen outside
