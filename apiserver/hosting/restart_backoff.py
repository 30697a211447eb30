"""Restart backoff: when an engine starts next, and should serve again."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Final

from shared.runtime.background import ExponentialBackoff

MAX_BACKOFF_SECONDS: Final = 30.0
HEALTHY_AFTER_SECONDS: Final = 60.0  # after this long the next restart begins with the short pause
# Bounds of the times that clients get.
MIN_RETRY_SECONDS: Final = 1
MAX_RETRY_SECONDS: Final = 60


class RestartBackoff:
    """Times of one model's starts, in seconds; ``backoff`` is the first pause."""

    def __init__(self, backoff: float, clock: Callable[[], float], rng: Random) -> None:
        self._backoff = ExponentialBackoff(backoff, MAX_BACKOFF_SECONDS, HEALTHY_AFTER_SECONDS)
        self._clock = clock
        self._rng = rng
        self._due_at = clock()
        self._start_began_at: float | None = None
        self._start_seconds: float | None = None
        self._up_since: float | None = None

    @property
    def is_due(self) -> bool:
        """Whether the next start is due."""
        return self._clock() >= self._due_at

    @property
    def is_starting(self) -> bool:
        """Whether a start or its canaries run."""
        return self._start_began_at is not None

    def start_begun(self) -> None:
        """Record the beginning of a start."""
        self._start_began_at = self._clock()

    def start_ended(self, *, ready: bool) -> None:
        """Record the end of its canaries; ``ready``: one passed."""
        if self._start_began_at is None:
            return
        self._up_since = self._clock()
        if ready:
            self._start_seconds = self._up_since - self._start_began_at
        self._start_began_at = None

    def schedule(self) -> float:
        """Schedule the next start; return the pause (± 20 %)."""
        pause = self._backoff.end(self._served())
        self._due_at = self._clock() + pause * self._rng.uniform(0.8, 1.2)
        self._start_began_at = self._up_since = None
        return pause

    @property
    def expected_seconds(self) -> float | None:
        """Whole seconds of a start, 1 to 60; None if never measured."""
        return None if self._start_seconds is None else _bounded(self._start_seconds)

    def seconds_left(self) -> float | None:
        """Return whole seconds until it should serve; None if never measured."""
        if self._start_seconds is None:
            return None
        now = self._clock()
        if self._start_began_at is not None:
            pause = self._start_began_at - now
        elif self._up_since is not None:  # it died, and no restart is scheduled yet
            pause = self._backoff.next_pause(self._served())
        else:
            pause = max(0.0, self._due_at - now)
        return _bounded(pause + self._start_seconds)

    def _served(self) -> float | None:
        return None if self._up_since is None else self._clock() - self._up_since


def _bounded(seconds: float) -> float:
    return float(min(max(math.ceil(seconds), MIN_RETRY_SECONDS), MAX_RETRY_SECONDS))
