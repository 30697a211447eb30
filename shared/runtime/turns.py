"""Turns of callers: in a queue, lock, thread, event loop."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

# Work that ends with a result; between two of its steps others have their turn.
Steps: TypeAlias = Generator[None, None, T]


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


class FairLock:
    """A lock that callers hold in turn; used on one event loop."""

    def __init__(self) -> None:
        self._queue = FairQueue()
        self._numbers = count()
        self._is_held = False

    async def acquire(self, caller: str) -> None:
        """Hold the lock until :meth:`release`."""
        if self._is_held:
            await self._turn(caller)
        self._is_held = True

    def release(self) -> None:
        """Give the lock to the next caller."""
        self._is_held = bool(self._queue)
        if self._is_held:
            self._queue.pop().grant()

    @asynccontextmanager
    async def held(self, caller: str) -> AsyncGenerator[None]:
        """Hold the lock while the block lasts."""
        await self.acquire(caller)
        try:
            yield
        finally:
            self.release()

    async def _turn(self, caller: str) -> None:
        number = next(self._numbers)
        waiter = Waiter(number, number, caller, asyncio.get_running_loop().create_future())
        self._queue.add(waiter)
        try:
            await waiter.slot
        except asyncio.CancelledError:
            if waiter.granted:  # at the same moment
                self.release()
            else:
                self._queue.remove(waiter)
            raise


class _Result(NamedTuple, Generic[T]):
    """Result of the last step."""

    value: T


class FairThread:
    """A thread that works for callers in turn, one piece at once.

    Used on one event loop. Work whose request is cancelled while it waits is not done.
    """

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._lock = FairLock()

    async def run(self, caller: str, work: Callable[[], T]) -> T:
        """Return the work's result, done in the thread at the caller's turn."""
        loop = asyncio.get_running_loop()
        await self._lock.acquire(caller)
        done = self._executor.submit(work)
        # Not when the request ends: a cancelled one's work is still being done.
        done.add_done_callback(lambda _: None if loop.is_closed() else loop.call_soon_threadsafe(self._lock.release))
        try:
            return await asyncio.wrap_future(done)
        finally:
            del done  # an error would keep itself, and its request's body, by this frame

    async def run_steps(self, caller: str, steps: Steps[T]) -> T:
        """Return the result of steps, each at its caller's turn."""
        step = partial(_next_result, steps)
        while (result := await self.run(caller, step)) is None:
            pass
        return result.value


def finish(steps: Steps[T]) -> T:
    """Return the result of all steps, done at once."""
    while (result := _next_result(steps)) is None:
        pass
    return result.value


def _next_result(steps: Steps[T]) -> _Result[T] | None:
    """Do a step; return the result if it was the last."""
    try:
        next(steps)
    except StopIteration as end:
        return _Result(end.value)
    return None


# Well below the longest stall that is promised (docs/security.md), because works of one turn are only estimated.
TURN_SECONDS: Final = 0.015


class LoopTurns:
    """Turns for short work, of which many requests at once bring much.

    A turn has works of ``TURN_SECONDS`` together, or one longer work alone; who comes first is served first. Used on one
    event loop.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()

    async def take(self, seconds: float) -> None:
        """Wait for a turn with place for this much work."""
        if self._has_place(seconds) and not self._waiting:
            self._add(seconds)
            return
        slot = asyncio.get_running_loop().create_future()
        self._waiting.append((seconds, slot))
        await slot

    def _has_place(self, seconds: float) -> bool:
        return not self._seconds or self._seconds + seconds <= TURN_SECONDS

    def _add(self, seconds: float) -> None:
        if not self._seconds:
            asyncio.get_running_loop().call_soon(self._next)
        self._seconds += seconds

    def _next(self) -> None:
        self._seconds = 0.0
        while self._waiting and self._has_place(self._waiting[0][0]):
            seconds, slot = self._waiting.popleft()
            if not slot.done():  # else its request was cancelled
                self._add(seconds)
                slot.set_result(None)
