"""FairShare, through the controller: what callers may have in flight, and what is released."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.admission.controller import RESERVE
from proxy.admission.retry_after import LONGEST_SECONDS, RETRY_SHARE
from shared.protocol.errors import OverloadedError, ReplicaFailedError
from tests.proxy.admission.harness import LIMIT, AdmissionHarness, full_to
from tests.proxy.balancing.local_fleet import A
from tests.proxy.samples import models, replica, snapshot


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


@settings(deadline=None)
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
