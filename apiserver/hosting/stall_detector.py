"""Stall detector: whether an engine makes steps, or answers pings while idle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from apiserver.engine.interface import Engine

PING_SECONDS: Final = 0.25  # a ping costs less than 1 ms of CPU
MAX_SECONDS_PER_CHECK: Final = 0.5  # after a blocked event loop, steps may not have been read yet


class StallDetector:
    """Silence of one engine, in seconds."""

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._clock = clock
        self._checked_at = self._pinged_at = clock()
        self._steps = engine.progress().steps
        self._ping: asyncio.Task[None] | None = None
        self.silence = 0.0

    def update(self) -> float:
        """Return the seconds of silence; call it several times a second."""
        now = self._clock()
        passed, self._checked_at = min(now - self._checked_at, MAX_SECONDS_PER_CHECK), now
        progress = self._engine.progress()
        moved, self._steps = progress.steps != self._steps, progress.steps
        if self._ping is not None and self._ping.done():
            if not self._ping.cancelled():
                self._ping.exception()  # retrieves its error; the host notices a death itself
            self._ping = None
        # An engine that answers pings but makes no step is stuck.
        owes = progress.running + progress.waiting > 0 or self._ping is not None
        self.silence = self.silence + passed if owes and not moved else 0.0
        if self._ping is None and now - self._pinged_at >= PING_SECONDS:
            self._pinged_at = now
            self._ping = asyncio.create_task(self._engine.ping(), name="ping")
        return self.silence

    def close(self) -> None:
        """Cancel the ping in flight."""
        if self._ping is not None:
            self._ping.cancel()
            self._ping = None
