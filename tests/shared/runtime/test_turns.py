"""Turns: callers in turn, in a queue, at a lock, in a thread and an event loop."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from shared.runtime.turns import TURN_SECONDS, FairLock, FairQueue, FairThread, LoopTurns, Steps, Waiter, finish
from tests.shared.runtime.slow_work import SlowWork
from tests.support.waiting import wait_until


def waiter(caller: str, turn: int, number: int) -> Waiter:
    return Waiter(turn, number, caller, asyncio.get_running_loop().create_future())


async def test_fair_queue_serves_callers_in_turn() -> None:
    queue = FairQueue()
    for number in range(3):
        queue.add(waiter("a", number, number))
    queue.add(waiter("b", 3, 3))
    assert [queue.pop().number for _ in range(4)] == [0, 3, 1, 2]
    assert not queue


async def test_fair_queue_serves_a_callers_first_turn_first() -> None:
    queue = FairQueue()
    queue.add(waiter("a", 2, 0))
    queue.add(waiter("a", 1, 1))
    assert [queue.pop().turn, queue.pop().turn] == [1, 2]


async def test_waiter_that_was_removed_is_not_served() -> None:
    queue = FairQueue()
    first, second = waiter("a", 0, 0), waiter("a", 0, 1)
    queue.add(first)
    queue.add(second)
    queue.remove(first)
    assert queue.pop() is second
    assert "a" not in queue


async def test_callers_take_turns_at_a_thread() -> None:
    thread, slow = FairThread("test"), SlowWork()
    tasks = [asyncio.create_task(thread.run("hostile", slow.work(f"hostile-{number}"))) for number in range(10)]
    await wait_until(lambda: slow.begun, 5)
    tasks.append(asyncio.create_task(thread.run("neighbour", slow.work("neighbour"))))
    await asyncio.sleep(0)
    slow.go_on.release(11)
    await asyncio.gather(*tasks)
    # One was at work, one more was first in turn.
    assert slow.begun.index("neighbour") <= 2
    assert len(slow.begun) == 11


async def test_work_of_a_client_that_has_gone_is_not_done() -> None:
    thread, slow = FairThread("test"), SlowWork()
    first = asyncio.create_task(thread.run("a", slow.work("first")))
    await wait_until(lambda: slow.begun, 5)
    gone, last = (asyncio.create_task(thread.run("a", slow.work(name))) for name in ("gone", "last"))
    await asyncio.sleep(0)
    gone.cancel()
    slow.go_on.release(3)
    assert await last == "last"
    assert await first == "first"
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert slow.begun == ["first", "last"]


async def test_cancelled_work_holds_its_thread_until_it_is_done() -> None:
    thread, slow = FairThread("test"), SlowWork()
    first = asyncio.create_task(thread.run("a", slow.work("first")))
    await wait_until(lambda: slow.begun, 5)
    following = asyncio.create_task(thread.run("a", slow.work("following")))
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert slow.begun == ["first"]
    slow.go_on.release(2)
    assert await following == "following"


async def test_turn_cancelled_as_it_comes_is_passed_on() -> None:
    thread, slow = FairThread("test"), SlowWork()
    first = asyncio.create_task(thread.run("a", slow.work("first")))
    await wait_until(lambda: slow.begun, 5)
    gone, last = (asyncio.create_task(thread.run("a", slow.work(name))) for name in ("gone", "last"))
    await asyncio.sleep(0)
    first.add_done_callback(lambda _: gone.cancel())  # the turn was granted in the same round of the event loop
    slow.go_on.release(3)
    assert await last == "last"
    assert not {"gone"} & set(slow.begun) or gone.done()


async def test_error_of_work_is_raised_and_frees_the_thread() -> None:
    thread = FairThread("test")

    def fail() -> str:
        message = "wrong"
        raise ValueError(message)

    with pytest.raises(ValueError, match="wrong"):
        await thread.run("a", fail)
    assert await thread.run("a", lambda: "fine") == "fine"


class Body:
    """A request's body that may be referenced weakly."""

    def read(self) -> str:
        raise ValueError("wrong")


async def test_error_keeps_nothing_of_its_work() -> None:
    thread, body = FairThread("test"), Body()
    kept = weakref.ref(body)
    gc.disable()  # a cycle would keep the body until it ran, which is seldom in a server
    try:
        with pytest.raises(ValueError, match="wrong"):
            await thread.run("a", body.read)
        del body
        await wait_until(lambda: kept() is None, 10)
    finally:
        gc.enable()


async def test_callers_take_turns_between_steps() -> None:
    thread, slow = FairThread("test"), SlowWork()

    def steps() -> Steps[str]:
        for number in range(10):
            slow.work(f"step {number}")()
            yield
        return "done"

    long = asyncio.create_task(thread.run_steps("hostile", steps()))
    await wait_until(lambda: slow.begun, 5)
    short = asyncio.create_task(thread.run("neighbour", slow.work("neighbour")))
    await asyncio.sleep(0)
    slow.go_on.release(11)
    assert await short == "neighbour"
    assert await long == "done"
    assert slow.begun.index("neighbour") == 1


async def test_error_of_a_step_is_raised_and_frees_the_thread() -> None:
    thread = FairThread("test")

    def steps() -> Steps[str]:
        yield
        message = "wrong"
        raise ValueError(message)

    with pytest.raises(ValueError, match="wrong"):
        await thread.run_steps("a", steps())
    assert await thread.run("a", lambda: "fine") == "fine"


def test_steps_are_finished_at_once() -> None:
    def steps() -> Steps[None]:
        yield
        yield

    assert finish(steps()) is None


async def test_callers_hold_a_lock_in_turn() -> None:
    lock, held = FairLock(), list[str]()

    async def hold(caller: str) -> None:
        async with lock.held(caller):
            held.append(caller)
            await asyncio.sleep(0)

    await lock.acquire("hostile")
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        tasks = [group.create_task(hold("hostile")) for _ in range(10)]
        await asyncio.sleep(0)
        tasks[5].cancel()
        group.create_task(hold("neighbour"))
        await asyncio.sleep(0)
        lock.release()
    assert held.index("neighbour") == 1
    assert len(held) == 10


async def test_turn_of_the_loop_has_little_short_work() -> None:
    turns, done = LoopTurns(), list[int]()

    async def work(number: int) -> None:
        await turns.take(TURN_SECONDS / 4)
        done.append(number)

    tasks = [asyncio.create_task(work(number)) for number in range(16)]
    sizes: list[int] = []
    async with asyncio.timeout(30):
        while len(done) < len(tasks):
            await asyncio.sleep(0)
            sizes.append(len(done))
    assert done == list(range(16))
    assert max(after - before for before, after in zip([0, *sizes], sizes, strict=False)) == 4


async def test_work_longer_than_a_turn_has_one_alone() -> None:
    turns = LoopTurns()
    short, alone = (asyncio.create_task(turns.take(seconds)) for seconds in (0.001, 10 * TURN_SECONDS))
    await asyncio.sleep(0)
    assert not alone.done()
    async with asyncio.timeout(30):
        await asyncio.gather(short, alone, turns.take(0.001))


async def test_later_work_overtakes_none() -> None:
    turns, done = LoopTurns(), list[str]()

    async def work(name: str, seconds: float) -> None:
        await turns.take(seconds)
        done.append(name)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for name, seconds in (("first", TURN_SECONDS), ("long", TURN_SECONDS), ("short", TURN_SECONDS / 100)):
            group.create_task(work(name, seconds))
    assert done == ["first", "long", "short"]


async def test_cancelled_work_takes_no_turn() -> None:
    turns = LoopTurns()
    await turns.take(TURN_SECONDS)
    waiting = [asyncio.create_task(turns.take(TURN_SECONDS)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[1].cancel()
    async with asyncio.timeout(30):
        await waiting[2]
        await turns.take(TURN_SECONDS)
