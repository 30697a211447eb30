"""What the proxy lets in: no more than there is room for, a fair share for each, and whoever comes when told to."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.admission.controller import RESERVE, AdmissionController
from proxy.admission.pair_load import FEW_REPLICAS, SECONDS_PER_REPLICA
from proxy.admission.retry_after import EMPTY_SECONDS, GRACE_SECONDS, LONGEST_SECONDS, SCHEDULED_SHARE
from proxy.call import TranslationCall
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from proxy.keys.caller import Caller
from proxy.metrics import ProxyMetrics
from shared.protocol.deadline import Deadline
from shared.protocol.errors import OverloadedError, ReplicaFailedError
from shared.protocol.lanes import CHARS_PER_UNIT, SHORT_UNITS, Lane
from shared.protocol.messages import TranslateRequest
from shared.protocol.priority import Priority
from shared.protocol.report import ServedPairs
from shared.runtime.metrics import RequestSample
from tests.proxy.samples import models, pair, replica, snapshot
from tests.proxy.balancing.test_local_stats import EN_DE, A, B, Scene

LIMIT = 10.0
EN_FR = pair("en>fr")


class Door:
    """An admission over two replicas of which one does not say, or one that says how full it is."""

    def __init__(self, fleet: Snapshot | None = None) -> None:
        self.fleet = fleet or full_to(0)
        self.scene = Scene(self.fleet)
        self.metrics = ProxyMetrics()
        self.admission = AdmissionController(self.scene.evidence, self.metrics, lambda: self.scene.now)
        self.inside = ExitStack()

    def sees(self, fleet: Snapshot) -> None:
        self.fleet = fleet
        self.scene.evidence.apply_snapshot(fleet)

    def call(
        self, who: str = "alice", text: str = "Hello", priority: Priority = Priority.INTERACTIVE
    ) -> TranslationCall:
        request = TranslateRequest(text=text, source_lang="en", target_lang="de")
        deadline = Deadline.after(30, lambda: self.scene.now)
        return TranslationCall(request, Caller(who), priority, deadline, "id", RequestSample())

    def enter(self, who: str = "alice", text: str = "Hello", priority: Priority = Priority.INTERACTIVE) -> None:
        """Come in and stay.

        Raises:
            OverloadedError: refused.
        """
        self.inside.enter_context(self.admission.admit([(self.call(who, text, priority), EN_DE)], self.fleet))

    def told(self, who: str = "alice", text: str = "Hello") -> float:
        """Be refused; return the seconds to wait."""
        with pytest.raises(OverloadedError) as refused:
            self.enter(who, text)
        assert refused.value.retry_after is not None
        return refused.value.retry_after

    def shed(self, reason: str) -> float:
        return cast("float", self.metrics.shed.labels("en-de", "interactive", reason)._value.get())  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportAttributeAccessIssue] - as prometheus_client's own tests do


def full_to(ahead: float, rate: float | None = 2.0) -> Snapshot:
    return snapshot(replica(A, "en>de", models=models(ahead=ahead, limit=LIMIT, rate=rate)))


def test_a_full_fleet_refuses_at_once_and_one_with_room_takes() -> None:
    door = Door(full_to(LIMIT))
    assert door.told() >= 1
    assert door.shed("full") == 1
    door.sees(full_to(0))
    door.enter()


def test_one_replica_with_room_is_enough_and_one_that_is_out_does_not_count() -> None:
    full, free = models(ahead=LIMIT, limit=LIMIT), models(ahead=0, limit=LIMIT)
    fleet = snapshot(replica(A, "en>de", models=full), replica(B, "en>de", models=free))
    door = Door(fleet)
    door.enter()
    permit = door.scene.evidence.pair_replica_stats(B, EN_DE).breaker.acquire()
    assert permit is not None
    door.scene.evidence.pair_replica_stats(B, EN_DE).record_failure(permit, "reset", at_once=True)
    door.told("bob")


def test_replicas_that_do_not_say_how_full_they_are_are_asked() -> None:
    door = Door(snapshot(replica(A, "en>de"), replica(B, "en>de", models=models(ahead=LIMIT, limit=LIMIT))))
    door.enter()


def test_long_texts_are_for_the_replica_to_judge() -> None:
    door = Door(full_to(LIMIT))
    door.enter(text="x" * (SHORT_UNITS * CHARS_PER_UNIT + 1))


def test_what_can_not_be_done_in_time_is_refused() -> None:
    door = Door(full_to(5, rate=0.1))  # 50 s of work ahead, 30 s to wait
    door.told()
    assert door.shed("late") == 1


def test_a_caller_with_much_in_hand_leaves_room_for_others() -> None:
    door = Door()
    taken = 0
    try:
        while taken < LIMIT:
            door.enter("alice")
            taken += 1
            door.sees(full_to(taken))
    except OverloadedError:
        pass
    assert taken <= LIMIT * (1 - RESERVE) + 1
    assert door.shed("full") == 1, "alone, nobody has more than a share"
    door.enter("bob")
    door.told("alice", "more")
    assert door.shed("share") == 1


def test_whoever_has_nothing_in_hand_does_not_wait_behind_one_that_has_much() -> None:
    door = Door(
        snapshot(
            replica(A, "en>de", models=models(ahead=50 * LIMIT, callers=1, limit=LIMIT, rate=2.0 / SCHEDULED_SHARE))
        )
    )
    door.enter("bob")
    crowded = models(ahead=50 * LIMIT, callers=LIMIT, limit=LIMIT, rate=2.0 / SCHEDULED_SHARE)
    door.sees(snapshot(replica(A, "en>de", models=crowded)))
    door.told("carol")


def test_the_wait_begins_when_there_is_room_again() -> None:
    door = Door(full_to(10 * LIMIT, rate=2.0))
    assert door.told("alice", "text") == 46  # (100 - 10) / 2, and its own place


def test_who_asks_again_and_again_keeps_the_one_place() -> None:
    door = Door(full_to(LIMIT, rate=2.0 / SCHEDULED_SHARE))
    waits = [door.told("alice", f"text {number}") for number in range(9)]
    assert waits[-1] == 5
    assert {door.told("alice", "text 8") for _ in range(1000)} == {5}
    door.scene.now += 2
    assert door.told("alice", "text 8") == 3
    assert door.told("alice", "another") == 3, "the place after the last one"
    assert door.told("bob", "first") <= 1, "in a queue of his own"


def test_a_refusal_of_one_leg_takes_no_place_at_the_other() -> None:
    door = Door(full_to(0))
    legs = [(door.call(), EN_DE), (door.call(), EN_FR)]
    other = models(ahead=LIMIT, limit=LIMIT, rate=2.0, name="n")
    report = replica(B, "en>fr", models=other).report
    assert report is not None
    french = ServedPairs({label: each.model_copy(update={"model": "n"}) for label, each in report.pairs.items()})
    full = Replica.reported(B, report.model_copy(update={"pairs": french}), 100.0)
    door.sees(snapshot(replica(A, "en>de", models=models(ahead=0, limit=LIMIT, rate=2.0 / SCHEDULED_SHARE)), full))
    for _ in range(5):
        with pytest.raises(OverloadedError), door.admission.admit(legs, door.fleet):
            pass
    places = {name: len(pool.retry_after._slots) for name, pool in door.admission._shares.items()}  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    assert places == {"m": 0, "n": 1}


def test_three_callers_come_to_about_the_same() -> None:
    door = Door()
    names = ["alice", "bob", "carol"]
    held = dict.fromkeys(names, 0)
    ahead = 0
    for name in names * 20:  # alice always asks first
        try:
            door.enter(name)
        except OverloadedError:
            continue
        held[name] += 1
        ahead += 1
        door.sees(full_to(ahead))
    assert max(held.values()) - min(held.values()) <= 1
    assert sum(held.values()) >= LIMIT * (1 - RESERVE) - 1


def test_places_are_given_at_the_rate_at_which_work_gets_done_and_kept() -> None:
    door = Door(full_to(LIMIT, rate=2.0 / SCHEDULED_SHARE))
    waits = [door.told("alice", f"text {number}") for number in range(10)]
    assert waits == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    for _ in range(int(LIMIT * (1 - RESERVE)) - 1):
        door.sees(full_to(0))
        door.enter("alice", "others")
    door.sees(full_to(LIMIT - 1))
    door.scene.now += 3
    door.told("alice", "new")
    door.enter("alice", "text 5")
    door.told("alice", "text 5")


def test_places_that_nobody_took_send_nobody_away_once_there_is_room() -> None:
    door = Door(full_to(LIMIT, rate=2.0 / SCHEDULED_SHARE))
    assert max(door.told("alice", f"text {number}") for number in range(100)) == 50
    door.sees(full_to(0))
    door.enter("bob")
    door.sees(full_to(LIMIT))
    assert door.told("alice", "new") == 51, "a moment is no end of the load"
    door.sees(full_to(0))
    door.enter("bob")
    door.scene.now += EMPTY_SECONDS
    door.enter("bob")
    door.sees(full_to(LIMIT))
    assert door.told("alice", "newer") == 1
    for number in range(100):
        door.told("alice", f"again {number}")
    door.scene.now += EMPTY_SECONDS
    door.sees(full_to(0))
    door.enter("bob")
    door.sees(full_to(LIMIT))
    assert door.told("alice", "after a pause") == 1


def test_when_all_places_are_given_no_second_of_the_later_half_gets_more_than_its_part() -> None:
    door = Door(full_to(LIMIT, rate=2.0 / SCHEDULED_SHARE))
    waits = Counter(door.told("alice", f"text {number}") for number in range(120 + 3 * 60))
    assert set(waits) == set(range(1, 61))
    assert {waits[second] for second in range(1, 31)} == {2}
    assert {waits[second] for second in range(32, 60)} <= {7, 8, 9}


def test_a_place_is_lost_when_too_early_or_too_late() -> None:
    door = Door(full_to(LIMIT))
    due = door.told("alice", "early")
    door.sees(full_to(0))
    for _ in range(5):
        door.inside.enter_context(door.admission.admit([(door.call("alice", "x", Priority.BULK), EN_DE)], door.fleet))
    door.sees(full_to(LIMIT - 0.5))
    door.scene.now += due - 0.5
    due = door.told("alice", "early")
    door.scene.now += due + GRACE_SECONDS + 0.1
    door.told("alice", "early")


def test_a_refusal_by_the_replica_gets_a_place_too_and_other_errors_do_not() -> None:
    door = Door(full_to(0, rate=2.0 / SCHEDULED_SHARE))
    with pytest.raises(OverloadedError) as refused, door.admission.admit([(door.call(), EN_DE)], door.fleet):
        raise OverloadedError("full", retry_after=1.0)
    assert refused.value.retry_after == 1
    with (
        pytest.raises(OverloadedError) as later,
        door.admission.admit([(door.call(text="b" * 400), EN_DE)], door.fleet),
    ):
        raise OverloadedError("full", retry_after=1.0)
    assert later.value.retry_after == 3
    with pytest.raises(ReplicaFailedError) as failed, door.admission.admit([(door.call(), EN_DE)], door.fleet):
        raise ReplicaFailedError("broken")
    assert failed.value.retry_after is None


@settings(deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 700), st.booleans(), st.floats(0, 12)), max_size=60)
)
def test_nothing_in_hand_is_left_over_and_waits_are_bounded(steps: list[tuple[str, int, bool, float]]) -> None:
    door = Door()
    stays: list[ExitStack] = []
    waits: list[float] = []
    for who, chars, leaves, ahead in steps:
        door.sees(full_to(ahead))
        stay = ExitStack()
        try:
            stay.enter_context(door.admission.admit([(door.call(who, "x" * chars), EN_DE)], door.fleet))
            stays.append(stay)
        except OverloadedError as error:
            waits.append(error.retry_after or 0)
        if leaves and stays:
            stays.pop(0).close()
    for stay in stays:
        stay.close()
    assert all(1 <= wait <= LONGEST_SECONDS for wait in waits)
    assert [pool.units for pool in door.admission._shares.values() if pool.units] == []  # pyright: ignore[reportPrivateUsage] - not to be seen outside


def test_how_full_many_replicas_are_is_seen_with_each_snapshot_and_after_a_moment() -> None:
    urls = [f"http://{number}" for number in range(FEW_REPLICAS + 1)]

    def all_full_to(ahead: float) -> Snapshot:
        return snapshot(
            *(
                replica(url, "en>de", models=models(ahead=ahead, limit=LIMIT, rate=2.0 / SCHEDULED_SHARE))
                for url in urls
            )
        )

    door = Door(all_full_to(LIMIT))
    door.told()
    door.sees(all_full_to(0))
    door.enter()
    for url in urls:
        door.scene.evidence.replica_stats(url).mark_full(Lane.INTERACTIVE_SHORT, door.scene.now, 1.0)
    door.enter("bob")
    door.scene.now += SECONDS_PER_REPLICA * len(urls)
    door.told("carol")
