"""Work in a daemon thread, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(work: Callable[[], T], *, undo: Callable[[T], None]) -> T:
    """Await ``work`` in a thread of its own; a result that nobody waits for any more is undone there.

    Unlike ``asyncio.to_thread``, whose threads the event loop waits for at its end: a server that is told to stop
    while an engine starts would stay for minutes.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - the waiting task's to handle
            if done.set_running_or_notify_cancel():
                done.set_exception(error)
            return
        if done.set_running_or_notify_cancel():
            done.set_result(result)
        else:
            undo(result)

    Thread(target=run, daemon=True).start()
    waiting = asyncio.wrap_future(done)
    try:
        return await waiting
    except asyncio.CancelledError:
        if not done.cancel() and done.exception() is None:  # it was there in this very moment
            await asyncio.to_thread(undo, done.result())
        raise
