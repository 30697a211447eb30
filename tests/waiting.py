"""Waiting for an outcome instead of sleeping, by a clock on which pauses of the machine do not count."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar, cast

T = TypeVar("T")

LOOK = 0.01  # seconds between two looks at the clock
MOST_PER_LOOK = 0.05
# However much of it was pauses, no wait lasts longer than this beyond its time.
MOST_PAUSED = 30.0


class Awake:
    """Seconds of the block in which the machine let this process run; use as a context manager.

    For upper bounds on what the product takes. Where the machine pauses for a second, or gives it to others, the product
    did not have that second: one look counts ``MOST_PER_LOOK``, or what this process computed meanwhile if that is more,
    for an event loop that keeps itself busy is no pause. Where the machine is idle these are plain seconds.
    """

    def __init__(self) -> None:
        self._counted = self._looked = self._computed = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def seconds(self) -> float:
        computed = time.process_time() - self._computed
        return self._counted + min(time.monotonic() - self._looked, max(MOST_PER_LOOK, computed))

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._timer is not None
        self._timer.cancel()

    def _begin(self) -> None:
        self._looked, self._computed = time.monotonic(), time.process_time()
        self._timer = asyncio.get_running_loop().call_later(LOOK, self._look)

    def _look(self) -> None:
        self._counted = self.seconds
        self._begin()


async def wait_until(condition: Callable[[], T | Awaitable[T]], within: float, what: str = "") -> T:
    """Return the condition's first true value; fail after ``within`` seconds awake, saying what was waited for."""
    until = time.monotonic() + within + MOST_PAUSED
    with Awake() as awake:
        while True:
            found = condition()
            value = cast("T", await found if inspect.isawaitable(found) else found)
            if value:
                return value
            if awake.seconds > within or time.monotonic() > until:
                raise AssertionError(f"not within {within:g} s: {what or condition}; last value: {value!r}")
            await asyncio.sleep(0.02)
