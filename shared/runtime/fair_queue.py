"""Fair turns: waiters, callers in turn; a thread that serves them."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True, order=True)
class Waiter:
    """A waiting piece of work, ordered by its turn."""

    turn: int
    number: int
    caller: str = field(compare=False)
    slot: asyncio.Future[None] = field(compare=False)
    granted: bool = field(default=False, compare=False)

    def grant(self) -> None:
        """Let the waiter go on.

        One that was cancelled just now passes its slot on, because it is ``granted``.
        """
        self.granted = True
        if not self.slot.done():
            self.slot.set_result(None)


class FairQueue:
    """Waiters: callers in turn, each caller's first turn first."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, list[Waiter]] = OrderedDict()

    def __contains__(self, caller: str) -> bool:
        return caller in self._callers

    def __len__(self) -> int:
        return len(self._callers)

    def add(self, waiter: Waiter) -> None:
        """Add a waiter."""
        insort(self._callers.setdefault(waiter.caller, []), waiter)

    def pop(self) -> Waiter:
        """Remove the next waiter; its caller becomes last."""
        caller, waiters = self._callers.popitem(last=False)
        waiter = waiters.pop(0)
        if waiters:
            self._callers[caller] = waiters
        return waiter

    def remove(self, waiter: Waiter) -> None:
        """Remove a waiter."""
        waiters = self._callers[waiter.caller]
        del waiters[bisect_left(waiters, waiter)]
        if not waiters:
            del self._callers[waiter.caller]


class FairThread:
    """A thread that works for callers in turn, one piece at once.

    Used on one event loop. Work whose request is cancelled while it waits is not done.
    """

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._queue = FairQueue()
        self._numbers = count()
        self._is_busy = False

    async def run(self, caller: str, work: Callable[[], T]) -> T:
        """Return the work's result, done in the thread at the caller's turn."""
        loop = asyncio.get_running_loop()
        if self._is_busy:
            await self._turn(caller, loop)
        self._is_busy = True
        done = self._executor.submit(work)
        # Not when the request ends: a cancelled one's work is still being done.
        done.add_done_callback(lambda _: None if loop.is_closed() else loop.call_soon_threadsafe(self._next))
        try:
            return await asyncio.wrap_future(done)
        finally:
            del done  # an error would keep itself, and its request's body, by this frame

    async def _turn(self, caller: str, loop: asyncio.AbstractEventLoop) -> None:
        number = next(self._numbers)
        waiter = Waiter(number, number, caller, loop.create_future())
        self._queue.add(waiter)
        try:
            await waiter.slot
        except asyncio.CancelledError:
            if waiter.granted:  # at the same moment
                self._next()
            else:
                self._queue.remove(waiter)
            raise

    def _next(self) -> None:
        self._is_busy = bool(self._queue)
        if self._is_busy:
            self._queue.pop().grant()
