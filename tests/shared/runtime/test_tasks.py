"""Tasks that end together; a daemon thread: its result, its error, and what nobody awaits."""

from __future__ import annotations

import asyncio
import threading

import pytest

from shared.runtime.tasks import gather_results, in_daemon_thread
from tests.support.waiting import wait_until


async def _value(number: int) -> int:
    await asyncio.sleep(0)
    return number


async def test_gather_results_keeps_the_order() -> None:
    assert await gather_results([_value(1)]) == [1]
    assert await gather_results(map(_value, range(4))) == [0, 1, 2, 3]


async def test_gather_results_raises_first_error_and_cancels_the_rest() -> None:
    cancelled = asyncio.Event()

    async def endless() -> int:
        try:
            return await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def failing() -> int:
        await asyncio.sleep(0)
        raise LookupError

    with pytest.raises(LookupError):
        await gather_results([endless(), failing()])
    assert cancelled.is_set()


async def test_result_and_error_of_the_thread_arrive() -> None:
    undone: list[int] = []
    assert await in_daemon_thread(lambda: 7, undo=undone.append) == 7

    def fails() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await in_daemon_thread(fails, undo=undone.append)
    assert undone == []


async def test_unawaited_result_is_undone() -> None:
    go, undone = threading.Event(), threading.Event()
    got: list[int] = []

    def work() -> int:
        assert go.wait(5)
        return 7

    def undo(result: int) -> None:
        got.append(result)
        undone.set()

    task = asyncio.create_task(in_daemon_thread(work, undo=undo))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await asyncio.to_thread(undone.wait, 5)
    assert got == [7]


async def test_result_during_cancellation_is_undone() -> None:
    finished = threading.Event()
    got: list[int] = []

    def work() -> int:
        finished.set()
        return 7

    task = asyncio.create_task(in_daemon_thread(work, undo=got.append))
    await asyncio.sleep(0)
    assert finished.wait(5)  # blocks the loop: the result is there, but the task has not heard of it
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until(lambda: got == [7], 5)


async def test_unawaited_error_is_dropped() -> None:
    go = threading.Event()

    def work() -> int:
        assert go.wait(5)
        raise OSError("late")

    task = asyncio.create_task(in_daemon_thread(work, undo=lambda _: None))
    await asyncio.sleep(0.05)
    task.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
