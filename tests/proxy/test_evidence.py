"""What a proxy has seen itself: in flight, unreachable, the load of others."""

from __future__ import annotations

import asyncio

import pytest

from proxy.evidence import LocalEvidence
from tests.proxy.samples import replica, snapshot

A, B = "http://a", "http://b"


def nobody() -> None:
    """Nobody minds the loss."""


@pytest.mark.parametrize("error", [ValueError(), asyncio.CancelledError(), KeyboardInterrupt()])
def test_in_flight_is_freed_whatever_happens(error: BaseException) -> None:
    evidence = LocalEvidence()

    def fail() -> None:
        with evidence.in_flight(A, 3, nobody), evidence.in_flight(A, 2, nobody):
            assert evidence.load(A, snapshot()) == 5
            raise error

    with pytest.raises(type(error)):
        fail()
    assert evidence.load(A, snapshot()) == 0
    assert "http" not in repr(evidence)


async def test_in_flight_is_freed_when_the_task_is_cancelled() -> None:
    evidence = LocalEvidence()

    async def hold() -> None:
        with evidence.in_flight(A, 1, nobody):
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(hold()) for _ in range(5)]
    await asyncio.sleep(0)
    assert evidence.load(A, snapshot()) == 5
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert evidence.load(A, snapshot()) == 0


def test_load_counts_ours_and_what_the_report_shows_of_others_but_nothing_twice() -> None:
    evidence = LocalEvidence()
    with evidence.in_flight(A, 2, nobody):
        fleet = snapshot(replica(A, "en>de", in_flight=7), replica(B, "en>de"))
        evidence.note_snapshot(fleet)
        assert evidence.load(A, fleet) == 7
        assert evidence.load(B, fleet) == 0
        with evidence.in_flight(A, 1, nobody):
            assert evidence.load(A, fleet) == 8
    assert evidence.load(A, fleet) == 5, "ours are done, the others' remain until the next report"
    evidence.note_snapshot(fleet)
    assert evidence.load(A, fleet) == 5, "the same report again changes nothing"


def test_load_is_never_less_than_ours() -> None:
    evidence = LocalEvidence()
    with evidence.in_flight(A, 4, nobody):
        fleet = snapshot(replica(A, "en>de", in_flight=1))
        evidence.note_snapshot(fleet)
        assert evidence.load(A, fleet) == 4


def test_who_waits_is_told_that_its_replica_is_down_and_nobody_else() -> None:
    evidence = LocalEvidence()
    told: list[str] = []
    with (
        evidence.in_flight(A, 1, lambda: told.append("a")),
        evidence.in_flight(B, 1, lambda: told.append("b")),
        evidence.in_flight("http://left", 1, lambda: told.append("left")),
    ):
        down = replica(A, "en>de").silent("refused", 2.0, patience=1)
        evidence.note_snapshot(snapshot(down, replica(B, "en>de")))
        assert told == ["a"]
    evidence.note_snapshot(snapshot(down))
    assert told == ["a"], "who has gone is told nothing"


def test_a_replica_of_which_nothing_is_known_has_our_load() -> None:
    evidence = LocalEvidence()
    with evidence.in_flight(A, 4, nobody):
        assert evidence.load(A, snapshot()) == 4
        assert evidence.load(A, snapshot(replica(A, "en>de", in_flight=9))) == 9 - 4 + 4


def test_unreachable_counts_until_a_newer_report_arrives() -> None:
    evidence = LocalEvidence()
    old, new = replica(A, "en>de", now=10.0), replica(A, "en>de", now=10.5)
    evidence.note_unreachable(A, snapshot(old))
    assert evidence.reachable([A, B], snapshot(old)) == [B]
    assert evidence.reachable([A, B], snapshot(old.silent("x", 11.0, patience=2))) == [B]
    assert evidence.reachable([A, B], snapshot(new)) == [A, B]
    assert evidence.reachable([A, B], snapshot(old)) == [A, B], "forgotten for good"


def test_a_replica_that_left_and_came_back_is_not_held_against() -> None:
    evidence = LocalEvidence()
    evidence.note_unreachable(A, snapshot(replica(A, "en>de")))
    evidence.note_snapshot(snapshot())
    assert evidence.reachable([A], snapshot(replica(A, "en>de"))) == [A]


def test_a_replica_that_never_reported_is_unreachable_until_it_does() -> None:
    evidence = LocalEvidence()
    evidence.note_unreachable(A, snapshot())
    assert evidence.reachable([A], snapshot()) == []
    assert evidence.reachable([A], snapshot(replica(A, "en>de"))) == [A]


def test_nothing_is_kept_of_replicas_that_are_gone() -> None:
    evidence = LocalEvidence()
    for number in range(100):
        fleet = snapshot(replica(f"http://{number}", "en>de"))
        evidence.note_snapshot(fleet)
        evidence.note_unreachable(f"http://{number}", fleet)
    evidence.note_snapshot(snapshot())
    kept = evidence._ours_at_report, evidence._unreachable  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    assert kept == ({}, {})
