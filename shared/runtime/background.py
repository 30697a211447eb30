"""Background work: loops that survive errors, tasks, pauses, the start check."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Thread
from typing import Final, TypeVar

log = logging.getLogger(__name__)

# A loop that missed this many intervals is stuck, but not before the floor: an engine's import holds the interpreter
# for seconds.
STALE_INTERVALS: Final = 10
STALE_FLOOR_SECONDS: Final = 15.0
# So that several proxies do not tick together.
PERIOD_JITTER: Final = 0.1
MIN_PAUSE_SECONDS: Final = 0.05


@dataclass(slots=True)
class Loop:
    """Loop that calls ``tick`` every ``interval`` seconds (± 10 %)."""

    name: str
    interval: float
    tick: Callable[[], Awaitable[None]]
    clock: Callable[[], float]
    rng: Random
    last_success: float = field(init=False)
    failures: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.last_success = self.clock()  # a new loop is not stale

    async def run(self) -> None:
        """Tick until cancelled, even if a library in the tick swallows that."""
        task = asyncio.current_task()
        while True:
            started = self.clock()
            await self.tick_once()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError
            period = self.interval * self.rng.uniform(1 - PERIOD_JITTER, 1 + PERIOD_JITTER)
            await asyncio.sleep(max(MIN_PAUSE_SECONDS, period - (self.clock() - started)))

    async def tick_once(self) -> None:
        """Tick once; count errors, and log the first in a row."""
        try:
            await self.tick()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            self._note_failure(error)  # something inside the tick was cancelled, not the loop
        except Exception as error:  # noqa: BLE001 - no error may end the loop
            self._note_failure(error)
        else:
            if self.failures:
                log.info("loop recovered", extra={"loop": self.name, "failures": self.failures})
            self.failures = 0
            self.last_success = self.clock()

    def _note_failure(self, error: BaseException) -> None:
        self.failures += 1
        if self.failures == 1:
            log.error("loop failed", extra={"loop": self.name}, exc_info=error)

    def age(self) -> float:
        """Return the seconds since the last successful tick."""
        return self.clock() - self.last_success

    def is_stale(self) -> bool:
        """Return whether the last successful tick is too long ago."""
        return self.age() > max(STALE_FLOOR_SECONDS, STALE_INTERVALS * self.interval)


@asynccontextmanager
async def running(*loops: Loop) -> AsyncGenerator[None]:
    """Run the loops during the block."""
    tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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


@dataclass(slots=True)
class ExponentialBackoff:
    """Pauses in seconds: ``first``, doubled with each end up to ``longest``.

    A run that served for more than ``healthy_after`` seconds begins again with the first.
    """

    first: float
    longest: float
    healthy_after: float
    # Ends in a row, the last healthy run's included.
    ends: int = field(default=0, init=False)
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.first

    def next_pause(self, served: float | None) -> float:
        """Return the pause after a run that served so long (None: never)."""
        return self.first if self._was_healthy(served) else self._next

    def end(self, served: float | None) -> float:
        """Count the end of such a run; return the pause."""
        pause = self.next_pause(served)
        self.ends = 1 if self._was_healthy(served) else self.ends + 1
        self._next = min(pause * 2, self.longest)
        return pause

    def _was_healthy(self, served: float | None) -> bool:
        return served is not None and served > self.healthy_after


class StartupCheck:
    """Latch that closes once every known pair was ready.

    They need not be ready at one time. A server without a known pair has not started.
    """

    def __init__(self) -> None:
        self.complete = False
        self.missing: tuple[str, ...] = ()
        self._were_ready: set[str] = set()

    def observe(self, pairs: Mapping[str, bool]) -> None:
        """Note the known pairs, each with whether it is ready now."""
        if self.complete:
            return
        self._were_ready.update(pair for pair, is_ready in pairs.items() if is_ready)
        self.missing = tuple(sorted(pairs.keys() - self._were_ready))
        self.complete = bool(pairs) and not self.missing
