"""Long bodies: parsed one after the other, beside the event loop; short ones at once."""

from __future__ import annotations

import asyncio
import threading

import pytest

from shared.parsing.long_bodies import INLINE_BYTES, LongBodies
from shared.runtime.turns import LoopTurns
from tests.shared.runtime.slow_work import SlowWork
from tests.support.waiting import wait_until


async def test_short_body_is_parsed_at_once() -> None:
    assert (
        await LongBodies(LoopTurns()).parse("a", INLINE_BYTES, threading.current_thread) is threading.current_thread()
    )


async def test_long_bodies_are_parsed_one_after_the_other() -> None:
    at_work = threading.Lock()

    def parse() -> threading.Thread:
        assert at_work.acquire(blocking=False), "another body is parsed"
        at_work.release()
        return threading.current_thread()

    bodies = LongBodies(LoopTurns())
    threads = await asyncio.gather(*(bodies.parse("a", INLINE_BYTES + 1, parse) for _ in range(50)))
    assert len(set(threads)) == 1
    assert threading.current_thread() not in threads


async def test_callers_take_turns() -> None:
    bodies, slow = LongBodies(LoopTurns()), SlowWork()
    tasks = [
        asyncio.create_task(bodies.parse("hostile", INLINE_BYTES + 1, slow.work(f"hostile-{number}")))
        for number in range(10)
    ]
    await wait_until(lambda: slow.begun, 5)
    tasks.append(asyncio.create_task(bodies.parse("neighbour", INLINE_BYTES + 1, slow.work("neighbour"))))
    await asyncio.sleep(0)
    slow.go_on.release(11)
    await asyncio.gather(*tasks)
    assert slow.begun.index("neighbour") <= 2, slow.begun


async def test_long_body_raises_its_own_error() -> None:
    with pytest.raises(ValueError, match="not a number"):
        await LongBodies(LoopTurns()).parse("a", INLINE_BYTES + 1, _fail)


def _fail() -> int:
    raise ValueError("not a number")
