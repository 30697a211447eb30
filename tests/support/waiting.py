"""Waiting for an outcome instead of sleeping, by a clock on which pauses of the machine do not count."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar, cast

T = TypeVar("T")

LOOK_SECONDS = 0.01  # seconds between two looks at the clock
MAX_PER_LOOK = 0.02
# No more pauses than this are believed, so that every wait ends.
MAX_PAUSED = 30.0
# A machine that paused for less hurts no attempt; one that always pauses ends it.
PAUSED_SECONDS = 0.05
MAX_ATTEMPTS = 8


class Awake:
    """Seconds of the block in which the machine let this process run; use as a context manager.

    For upper bounds on what the product takes. Where the machine pauses for a second, or gives it to others, the product
    did not have that second: a thread looks at the clock, and one look counts ``MAX_PER_LOOK``, or what this process
    computed meanwhile if that is more. An event loop that is blocked stops no thread, so it is no pause. Where the machine
    is idle these are plain seconds; never are they more, nor by more than ``MAX_PAUSED`` less.
    """

    def __init__(self) -> None:
        self._counted = self._looked = self._computed = self._began = 0.0
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._looking = threading.Thread(target=self._look, name="awake", daemon=True)

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        with self._lock:
            now, computed = time.monotonic(), time.process_time()
            self._counted += min(now - self._looked, max(MAX_PER_LOOK, computed - self._computed))
            self._looked, self._computed = now, computed
            return max(self._counted, now - self._began - MAX_PAUSED)

    @property
    def paused(self) -> float:
        """Seconds so far in which the machine paused, or ran others."""
        return time.monotonic() - self._began - self.seconds

    def __enter__(self) -> Self:
        self._began = self._looked = time.monotonic()
        self._computed = time.process_time()
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._looking.join()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            _ = self.seconds


async def wait_until(
    condition: Callable[[], T | Awaitable[T]], within: float, what: str = "", *, pause: float = 0.02
) -> T:
    """Return the condition's first true value; fail after ``within`` seconds awake, saying what was waited for.

    ``pause``: seconds between two looks, for conditions that cost the machine something.
    """
    with Awake() as awake:
        while True:
            outcome = condition()
            value = cast("T", await outcome if inspect.isawaitable(outcome) else outcome)
            if value:
                return value
            if awake.seconds > within:
                raise AssertionError(f"not within {within:g} s: {what or condition}; last value: {value!r}")
            await asyncio.sleep(pause)


async def within_awake(work: Awaitable[T], seconds: float) -> T:
    """Return what the work does; raise TimeoutError, and cancel it, after so many seconds awake."""
    task = asyncio.ensure_future(work)
    try:
        with Awake() as awake:
            while not task.done():
                left = seconds - awake.seconds
                if left <= 0:
                    raise TimeoutError
                await asyncio.wait({task}, timeout=left)
        return task.result()
    finally:
        task.cancel()
        await asyncio.wait({task})


async def again_where_paused(attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what the attempt does; one that fails is made again where the machine paused meanwhile, and only there.

    For what is about real time: a hedge after 10 ms, a client that comes back within a tenth of a second.
    """
    for left in reversed(range(MAX_ATTEMPTS)):
        with Awake() as awake:
            try:
                return await attempt()
            except AssertionError:
                if awake.paused < PAUSED_SECONDS or not left:
                    raise
    raise AssertionError
