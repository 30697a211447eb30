"""Loops that run as long as the app, and log their errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

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
