"""Tasks that end together, and work in a daemon thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def gather_results(coroutines: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """Await all coroutines; the first error cancels the rest and is raised."""
    works = list(coroutines)
    if len(works) <= 1:  # most requests have only one, which needs no task
        return [await work for work in works]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except ExceptionGroup as failed:
        error: BaseException = failed.exceptions[0]
        raise error from error.__cause__  # without the group in the log, but not without the cause
    return [task.result() for task in tasks]


async def in_daemon_thread(work: Callable[[], T], *, undo: Callable[[T], None]) -> T:
    """Await ``work`` in a thread that does not delay the process's exit.

    ``undo`` gets a result that nobody awaits any more.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - the waiting task handles it
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
            return
        if future.set_running_or_notify_cancel():
            future.set_result(result)
        else:
            undo(result)

    Thread(target=run, daemon=True).start()
    result_future = asyncio.wrap_future(future)
    try:
        return await result_future
    except asyncio.CancelledError:
        if not future.cancel() and future.exception() is None:  # the result arrived at the same moment
            await asyncio.to_thread(undo, future.result())
        raise
