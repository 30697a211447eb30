"""Planning queue: short slices beside long ones, in slices of a bounded size."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.scheduling.planning_queue import SLICE_CHARS, TURN_CHARS, LoopTurns, PlanningQueue, slices
from tests.shared.runtime.slow_work import SlowWork
from tests.support.waiting import wait_until

LONG = SLICE_CHARS + 1


async def test_short_slice_waits_for_no_long_one() -> None:
    queue, slow = PlanningQueue(), SlowWork()
    long = asyncio.create_task(queue.run("hostile", LONG, slow.work("long")))
    await wait_until(lambda: slow.begun, 5)
    assert await queue.run("neighbour", SLICE_CHARS, lambda: "short") == "short"
    slow.go_on.release()
    assert await long == "long"


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([0], [range(1)]),
        ([SLICE_CHARS, 1], [range(1), range(1, 2)]),
        ([10] * 5, [range(5)]),
        ([LONG, 1, 1, LONG, 1], [range(1), range(1, 3), range(3, 4), range(4, 5)]),
        ([1, SLICE_CHARS - 1, 1], [range(2), range(2, 3)]),
    ],
)
def test_slices_have_a_bound_or_one_text(lengths: list[int], expected: list[range]) -> None:
    assert list(slices(["a" * length for length in lengths])) == expected


async def test_turn_of_the_loop_has_little_short_work() -> None:
    turns, done = LoopTurns(), list[int]()

    async def work(number: int) -> None:
        await turns.take(TURN_CHARS // 4)
        done.append(number)

    tasks = [asyncio.create_task(work(number)) for number in range(16)]
    for turn in range(1, 5):
        await asyncio.sleep(0)
        assert len(done) == 4 * turn
    await asyncio.gather(*tasks)
    assert sorted(done) == list(range(16))


async def test_work_longer_than_a_turn_has_one_alone() -> None:
    turns = LoopTurns()
    short, alone = (asyncio.create_task(turns.take(chars)) for chars in (1, 10 * TURN_CHARS))
    await asyncio.sleep(0)
    assert not alone.done()
    async with asyncio.timeout(30):
        await asyncio.gather(short, alone, turns.take(1))
