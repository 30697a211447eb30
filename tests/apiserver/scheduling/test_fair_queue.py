"""The fair queue: callers in turn, each with its first text first."""

from __future__ import annotations

import asyncio

from apiserver.scheduling.fair_queue import FairQueue, SlotRequest, Waiter
from shared.protocol.lanes import Lane


def waiter(turn: int, number: int) -> Waiter:
    return Waiter(turn, number, asyncio.get_running_loop().create_future())


async def test_callers_take_turns() -> None:
    queue = FairQueue(1)
    for number in range(3):
        queue.add("a", waiter(number, number))
    queue.add("b", waiter(3, 3))
    assert [queue.pop().number for _ in range(4)] == [0, 3, 1, 2]
    assert not queue.callers


async def test_first_text_of_a_caller_goes_first() -> None:
    queue = FairQueue(1)
    queue.add("a", waiter(2, 0))
    queue.add("a", waiter(1, 1))
    assert [queue.pop().turn, queue.pop().turn] == [1, 2]


async def test_segments_of_one_text_share_a_turn_paid_later() -> None:
    queue = FairQueue(2)
    for number in range(2):
        queue.add("a", waiter(0, number))
    queue.add("a", waiter(1, 2))
    for number in range(3, 6):
        queue.add("b", waiter(number, number))
    assert [queue.pop().number for _ in range(6)] == [0, 1, 3, 4, 2, 5]


async def test_removed_waiter_is_not_popped() -> None:
    queue = FairQueue(1)
    first, second = waiter(0, 0), waiter(0, 1)
    queue.add("a", first)
    queue.add("a", second)
    queue.remove("a", first)
    assert queue.pop() is second
    assert not queue.callers


def test_slot_request_is_long_by_its_lane() -> None:
    assert SlotRequest(Lane.BULK_LONG, "a", 0).is_long
    assert not SlotRequest(Lane.BULK_SHORT, "a", 0).is_long
    assert not SlotRequest(None, "a", 0).is_long
