"""Loop turns: little short work in each turn of an event loop, in the order of its arrival."""

from __future__ import annotations

import asyncio

from shared.runtime.loop_turns import TURN_SECONDS, LoopTurns


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
