"""Planning queue: callers in turn, short slices beside long ones, nothing planned for a client that has gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from apiserver.scheduling.planning_queue import SLICE_CHARS, TURN_CHARS, LoopTurns, PlanningQueue, slices
from tests.support.waiting import wait_until

LONG = SLICE_CHARS + 1


class Slow:
    """Slices that note their name and wait until they may go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go_on = threading.Semaphore(0)

    def slice(self, name: str) -> Callable[[], str]:
        def plan() -> str:
            self.begun.append(name)
            assert self.go_on.acquire(timeout=30)
            return name

        return plan


async def test_callers_take_turns() -> None:
    queue, slow = PlanningQueue(), Slow()
    tasks = [asyncio.create_task(queue.run("hostile", 10, slow.slice(f"hostile-{number}"))) for number in range(10)]
    await wait_until(lambda: slow.begun, 5)
    tasks.append(asyncio.create_task(queue.run("neighbour", 10, slow.slice("neighbour"))))
    await asyncio.sleep(0)
    slow.go_on.release(11)
    await asyncio.gather(*tasks)
    # One slice was being planned, one more was first in turn.
    assert slow.begun.index("neighbour") <= 2
    assert len(slow.begun) == 11


async def test_short_slice_waits_for_no_long_one() -> None:
    queue, slow = PlanningQueue(), Slow()
    long = asyncio.create_task(queue.run("hostile", LONG, slow.slice("long")))
    await wait_until(lambda: slow.begun, 5)
    assert await queue.run("neighbour", SLICE_CHARS, lambda: "short") == "short"
    slow.go_on.release()
    assert await long == "long"


async def test_slice_of_a_client_that_has_gone_is_not_planned() -> None:
    queue, slow = PlanningQueue(), Slow()
    first = asyncio.create_task(queue.run("a", 10, slow.slice("first")))
    await wait_until(lambda: slow.begun, 5)
    gone, last = (asyncio.create_task(queue.run("a", 10, slow.slice(name))) for name in ("gone", "last"))
    await asyncio.sleep(0)
    gone.cancel()
    slow.go_on.release(3)
    assert await last == "last"
    assert await first == "first"
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert slow.begun == ["first", "last"]


async def test_cancelled_slice_holds_its_thread_until_it_is_planned() -> None:
    queue, slow = PlanningQueue(), Slow()
    first = asyncio.create_task(queue.run("a", 10, slow.slice("first")))
    await wait_until(lambda: slow.begun, 5)
    following = asyncio.create_task(queue.run("a", 10, slow.slice("following")))
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert slow.begun == ["first"]
    slow.go_on.release(2)
    assert await following == "following"


async def test_turn_cancelled_as_it_comes_is_passed_on() -> None:
    queue, slow = PlanningQueue(), Slow()
    first = asyncio.create_task(queue.run("a", 10, slow.slice("first")))
    await wait_until(lambda: slow.begun, 5)
    gone, last = (asyncio.create_task(queue.run("a", 10, slow.slice(name))) for name in ("gone", "last"))
    await asyncio.sleep(0)
    first.add_done_callback(lambda _: gone.cancel())  # the turn was granted in the same round of the event loop
    slow.go_on.release(3)
    assert await last == "last"
    assert not {"gone"} & set(slow.begun) or gone.done()


async def test_error_of_a_slice_is_raised_and_frees_the_thread() -> None:
    queue = PlanningQueue()

    def fail() -> str:
        message = "wrong"
        raise ValueError(message)

    with pytest.raises(ValueError, match="wrong"):
        await queue.run("a", 10, fail)
    assert await queue.run("a", 10, lambda: "fine") == "fine"


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
