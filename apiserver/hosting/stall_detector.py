"""Stall detector: whether an engine makes progress, by its steps, or while idle by its answers to a ping.

What the API process does (heartbeats, answers of ``/report``) says nothing about an engine in a process of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from apiserver.engine.interface import Engine

# Pause between two pings; never is more than one on its way. One costs less than 1 ms of CPU in both processes.
PING_SECONDS: Final = 0.25
# A check counts for no more silence than this. Where checks come later, our own event loop was held up (an engine's import
# holds the interpreter for seconds), and steps made meanwhile may still have to be read.
MAX_SECONDS_PER_CHECK: Final = 0.5


class StallDetector:
    """Watches one engine; mutable state: steps seen, the ping on its way, how long the engine has owed a sign of life.

    ``clock`` gives seconds, monotonic.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._clock = clock
        self._checked_at = self._pinged_at = clock()
        self._steps = engine.progress().steps
        self._ping: asyncio.Task[None] | None = None
        self.silence = 0.0

    def check(self) -> float:
        """Return the seconds for which the engine has owed a step (work waits) or an answer to the ping (idle).

        To be called several times a second, on the event loop; sends the pings.
        """
        now = self._clock()
        passed, self._checked_at = min(now - self._checked_at, MAX_SECONDS_PER_CHECK), now
        progress = self._engine.progress()
        moved, self._steps = progress.steps != self._steps, progress.steps
        answered = self._is_answered()
        # While work waits answers do not count: an engine that answers but makes no step is stuck.
        owes = progress.running + progress.waiting > 0 or not answered
        self.silence = self.silence + passed if owes and not moved else 0.0
        if self._ping is None and now - self._pinged_at >= PING_SECONDS:
            self._pinged_at = now
            self._ping = asyncio.create_task(self._engine.ping(), name="ping")
        return self.silence

    def close(self) -> None:
        """Wait for no answer any more."""
        if self._ping is not None:
            self._ping.cancel()
            self._ping = None

    def _is_answered(self) -> bool:
        """Say whether no ping is on its way, and put an answered one away."""
        if self._ping is not None and self._ping.done():
            if not self._ping.cancelled():
                self._ping.exception()  # of an engine that dies; whoever owns it sees that for itself
            self._ping = None
        return self._ping is None
