"""AdmissionController: what a full fleet refuses, callers' fair shares, and when the refused should return."""

from __future__ import annotations

from contextlib import ExitStack
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.admission.controller import RESERVE
from proxy.admission.retry_after import (
    JITTER,
    LATER_PART,
    LONGEST_SECONDS,
    MAX_CALLERS,
    QUIET_SECONDS,
    RETRY_SHARE,
    RetryAfter,
)
from proxy.fleet.snapshot import Snapshot
from shared.protocol.errors import OverloadedError, ReplicaFailedError
from shared.protocol.priority import CHARS_PER_UNIT, SHORT_UNITS, Lane
from tests.proxy.admission.harness import LIMIT, AdmissionHarness, full_to
from tests.proxy.balancing.local_fleet import EN_DE, A, B
from tests.proxy.samples import models, replica, snapshot


def test_full_fleet_is_refused_and_a_free_one_admitted() -> None:
    harness = AdmissionHarness(full_to(LIMIT))
    assert harness.refused_seconds() >= 1
    assert harness.shed_count("full") == 1
    harness.report(full_to(0))
    harness.admit()


def test_long_text_is_admitted_to_a_full_fleet() -> None:
    harness = AdmissionHarness(full_to(LIMIT))
    harness.admit(text="x" * (SHORT_UNITS * CHARS_PER_UNIT + 1))


def test_request_that_would_be_late_is_refused() -> None:
    harness = AdmissionHarness(full_to(5, rate=0.1))  # 50 s of work ahead, 30 s to wait
    harness.refused_seconds()
    assert harness.shed_count("late") == 1


def test_busy_caller_leaves_capacity_for_others() -> None:
    harness = AdmissionHarness()
    taken = 0
    try:
        while taken < LIMIT:
            harness.admit("alice")
            taken += 1
            harness.report(full_to(taken))
    except OverloadedError:
        pass
    assert taken <= LIMIT * (1 - RESERVE) + 1
    assert harness.shed_count("full") == 1, "alone, nobody has more than a share"
    harness.admit("bob")
    harness.refused_seconds("alice", "more")
    assert harness.shed_count("share") == 1


def test_newcomer_does_not_wait_behind_a_busy_caller() -> None:
    harness = AdmissionHarness(
        snapshot(replica(A, "en>de", models=models(ahead=50 * LIMIT, callers=1, limit=LIMIT, rate=2.0 / RETRY_SHARE)))
    )
    harness.admit("bob")
    crowded = models(ahead=50 * LIMIT, callers=LIMIT, limit=LIMIT, rate=2.0 / RETRY_SHARE)
    harness.report(snapshot(replica(A, "en>de", models=crowded)))
    harness.refused_seconds("carol")


def test_three_callers_get_equal_shares() -> None:
    harness = AdmissionHarness()
    names = ["alice", "bob", "carol"]
    units = dict.fromkeys(names, 0)
    ahead = 0
    for name in names * 20:  # alice always asks first
        try:
            harness.admit(name)
        except OverloadedError:
            continue
        units[name] += 1
        ahead += 1
        harness.report(full_to(ahead))
    assert max(units.values()) - min(units.values()) <= 1
    assert sum(units.values()) >= LIMIT * (1 - RESERVE) - 1


def test_replica_refusal_gets_our_wait_and_other_errors_do_not() -> None:
    harness = AdmissionHarness(full_to(0, rate=2.0 / RETRY_SHARE))
    with (
        pytest.raises(OverloadedError) as refused,
        harness.controller.admit([harness.leg()], harness.snapshot),
    ):
        raise OverloadedError("full", retry_after=1.0)
    assert refused.value.retry_after == 1
    with (
        pytest.raises(OverloadedError) as later,
        harness.controller.admit([harness.leg(text="b" * 400)], harness.snapshot),
    ):
        raise OverloadedError("full", retry_after=1.0)
    assert later.value.retry_after in {3, 4}
    for reason in ("late", "memory"):
        with (
            pytest.raises(OverloadedError) as own,
            harness.controller.admit([harness.leg(text="b" * 400)], harness.snapshot),
        ):
            raise OverloadedError("of this request", retry_after=1.0, facts={"reason": reason})
        assert own.value.retry_after == 1.0
    with (
        pytest.raises(ReplicaFailedError) as failed,
        harness.controller.admit([harness.leg()], harness.snapshot),
    ):
        raise ReplicaFailedError("broken")
    assert failed.value.retry_after is None


@given(
    steps=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 700), st.booleans(), st.floats(0, 12)), max_size=60)
)
def test_units_return_to_zero_and_waits_are_bounded(steps: list[tuple[str, int, bool, float]]) -> None:
    harness = AdmissionHarness()
    stays: list[ExitStack] = []
    waits: list[float] = []
    for caller, chars, leaves, ahead in steps:
        harness.report(full_to(ahead))
        stay = ExitStack()
        try:
            stay.enter_context(harness.controller.admit([harness.leg(caller, "x" * chars)], harness.snapshot))
            stays.append(stay)
        except OverloadedError as error:
            waits.append(error.retry_after or 0)
        if leaves and stays:
            stays.pop(0).close()
    for stay in stays:
        stay.close()
    assert all(1 <= wait <= LONGEST_SECONDS for wait in waits)
    assert [share.units for share in harness.controller._shares.values() if share.units] == []  # pyright: ignore[reportPrivateUsage] - not to be seen outside


def test_one_free_replica_is_enough_unless_it_is_out() -> None:
    full, free = models(ahead=LIMIT, limit=LIMIT), models(ahead=0, limit=LIMIT)
    fleet_snapshot = snapshot(replica(A, "en>de", models=full), replica(B, "en>de", models=free))
    harness = AdmissionHarness(fleet_snapshot)
    harness.admit()
    permit = harness.local_fleet.local_stats.pair_replica_stats(B, EN_DE).breaker.acquire()
    assert permit is not None
    harness.local_fleet.local_stats.pair_replica_stats(B, EN_DE).record_failure(permit, "reset", at_once=True)
    harness.refused_seconds("bob")


def test_replica_without_reported_capacity_is_asked() -> None:
    harness = AdmissionHarness(
        snapshot(replica(A, "en>de"), replica(B, "en>de", models=models(ahead=LIMIT, limit=LIMIT)))
    )
    harness.admit()


def test_last_replica_with_space_is_found_among_many() -> None:
    def fleet_with(*ahead: float) -> Snapshot:
        urls = (f"http://{number}" for number in range(len(ahead)))
        return snapshot(
            *(
                replica(url, "en>de", models=models(ahead=each, limit=LIMIT))
                for url, each in zip(urls, ahead, strict=True)
            )
        )

    full = [LIMIT] * 50
    harness = AdmissionHarness(fleet_with(*full, 0))
    for number in range(20):
        harness.admit(f"caller {number}")
    harness.report(fleet_with(*full, LIMIT))
    harness.refused_seconds("late")
    for url in harness.snapshot.replicas:
        harness.local_fleet.local_stats.replica_stats(url).mark_full(Lane.BULK_SHORT, harness.local_fleet.now, 1.0)
    harness.report(fleet_with(*[0.0] * 50))
    harness.admit("again")
    for url in harness.snapshot.replicas:
        harness.local_fleet.local_stats.replica_stats(url).mark_full(
            Lane.INTERACTIVE_SHORT, harness.local_fleet.now, 1.0
        )
    harness.refused_seconds("back-pressure")


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
