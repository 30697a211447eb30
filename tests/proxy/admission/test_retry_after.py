"""RetryAfterScheduler, through the controller: the time slots of refused requests."""

from __future__ import annotations

from collections import Counter

import pytest

from proxy.admission.controller import RESERVE
from proxy.admission.retry_after import EMPTY_SECONDS, GRACE_SECONDS, SCHEDULED_SHARE
from proxy.fleet.replica import Replica
from shared.protocol.errors import OverloadedError
from shared.protocol.priority import Priority
from shared.protocol.report import ServedPairs
from tests.proxy.admission.harness import EN_FR, LIMIT, AdmissionHarness, full_to
from tests.proxy.balancing.local_fleet import EN_DE, A, B
from tests.proxy.samples import models, replica, snapshot


def test_retry_after_begins_when_capacity_returns() -> None:
    harness = AdmissionHarness(full_to(10 * LIMIT, rate=2.0))
    assert harness.refused_seconds("alice", "text") == 46  # (100 - 10) / 2, and its own slot


def test_repeated_request_keeps_its_slot() -> None:
    harness = AdmissionHarness(full_to(LIMIT, rate=2.0 / SCHEDULED_SHARE))
    waits = [harness.refused_seconds("alice", f"text {number}") for number in range(9)]
    assert waits[-1] == 5
    assert {harness.refused_seconds("alice", "text 8") for _ in range(1000)} == {5}
    harness.local_fleet.now += 2
    assert harness.refused_seconds("alice", "text 8") == 3
    assert harness.refused_seconds("alice", "another") == 3, "the slot after the last one"
    assert harness.refused_seconds("bob", "first") <= 1, "in a queue of his own"


def test_refused_leg_takes_no_slot_at_the_other() -> None:
    harness = AdmissionHarness(full_to(0))
    legs = [(harness.call(), EN_DE), (harness.call(), EN_FR)]
    other = models(ahead=LIMIT, limit=LIMIT, rate=2.0, name="n")
    report = replica(B, "en>fr", models=other).report
    assert report is not None
    french = ServedPairs({label: each.model_copy(update={"model": "n"}) for label, each in report.pairs.items()})
    full = Replica.reported(B, report.model_copy(update={"pairs": french}), 100.0)
    harness.report(snapshot(replica(A, "en>de", models=models(ahead=0, limit=LIMIT, rate=2.0 / SCHEDULED_SHARE)), full))
    for _ in range(5):
        with pytest.raises(OverloadedError), harness.controller.admit(legs, harness.snapshot):
            pass
    slots = {name: len(share.retry_after._slots) for name, share in harness.controller._shares.items()}  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    assert slots == {"m": 0, "n": 1}


def test_slots_follow_the_rate_and_are_redeemed_once() -> None:
    harness = AdmissionHarness(full_to(LIMIT, rate=2.0 / SCHEDULED_SHARE))
    waits = [harness.refused_seconds("alice", f"text {number}") for number in range(10)]
    assert waits == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    for _ in range(int(LIMIT * (1 - RESERVE)) - 1):
        harness.report(full_to(0))
        harness.admit("alice", "others")
    harness.report(full_to(LIMIT - 1))
    harness.local_fleet.now += 3
    harness.refused_seconds("alice", "new")
    harness.admit("alice", "text 5")
    harness.refused_seconds("alice", "text 5")


def test_unused_slots_expire_when_the_fleet_is_empty() -> None:
    harness = AdmissionHarness(full_to(LIMIT, rate=2.0 / SCHEDULED_SHARE))
    assert max(harness.refused_seconds("alice", f"text {number}") for number in range(100)) == 50
    harness.report(full_to(0))
    harness.admit("bob")
    harness.report(full_to(LIMIT))
    assert harness.refused_seconds("alice", "new") == 51, "a moment is no end of the load"
    harness.report(full_to(0))
    harness.admit("bob")
    harness.local_fleet.now += EMPTY_SECONDS
    harness.admit("bob")
    harness.report(full_to(LIMIT))
    assert harness.refused_seconds("alice", "newer") == 1
    for number in range(100):
        harness.refused_seconds("alice", f"again {number}")
    harness.local_fleet.now += EMPTY_SECONDS
    harness.report(full_to(0))
    harness.admit("bob")
    harness.report(full_to(LIMIT))
    assert harness.refused_seconds("alice", "after a pause") == 1


def test_slots_beyond_a_minute_spread_over_its_later_half() -> None:
    harness = AdmissionHarness(full_to(LIMIT, rate=2.0 / SCHEDULED_SHARE))
    waits = Counter(harness.refused_seconds("alice", f"text {number}") for number in range(120 + 3 * 60))
    assert set(waits) == set(range(1, 61))
    assert {waits[second] for second in range(1, 31)} == {2}
    assert {waits[second] for second in range(32, 60)} <= {7, 8, 9}


def test_slot_is_lost_when_too_early_or_too_late() -> None:
    harness = AdmissionHarness(full_to(LIMIT))
    due = harness.refused_seconds("alice", "early")
    harness.report(full_to(0))
    for _ in range(5):
        harness.admitted.enter_context(
            harness.controller.admit([(harness.call("alice", "x", Priority.BULK), EN_DE)], harness.snapshot)
        )
    harness.report(full_to(LIMIT - 0.5))
    harness.local_fleet.now += due - 0.5
    due = harness.refused_seconds("alice", "early")
    harness.local_fleet.now += due + GRACE_SECONDS + 0.1
    harness.refused_seconds("alice", "early")
