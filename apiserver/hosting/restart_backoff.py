"""Restart backoff: when an engine starts next, and when its pairs should be ready."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Final

MAX_BACKOFF_SECONDS: Final = 30.0
# An engine that served this long was healthy: its next restart begins with the short pause again.
HEALTHY_AFTER_SECONDS: Final = 60.0
# Clients get a whole number of seconds within these: a start that takes longer is asked about again meanwhile.
MIN_RETRY_SECONDS: Final = 1
MAX_RETRY_SECONDS: Final = 60


class RestartBackoff:
    """One model's starts; mutable state: when the next is due, and how long the last one took.

    ``backoff`` is the first pause in seconds; the first start is due at once.
    """

    def __init__(self, backoff: float, clock: Callable[[], float], rng: Random) -> None:
        self._first_pause = self._next_backoff = backoff
        self._clock = clock
        self._rng = rng
        self._due_at = clock()
        self._start_began_at: float | None = None
        self._start_seconds: float | None = None
        self._up_since: float | None = None

    @property
    def is_due(self) -> bool:
        """Whether the pause before the next start is over."""
        return self._clock() >= self._due_at

    @property
    def is_starting(self) -> bool:
        """Whether a start has begun whose canaries are not yet through."""
        return self._start_began_at is not None

    def start_begun(self) -> None:
        """Note that a start begins now."""
        self._start_began_at = self._clock()

    def start_ended(self, *, ready: bool) -> None:
        """Note that the canaries of the running start are through; ``ready``: for at least one pair with success."""
        if self._start_began_at is None:
            return
        self._up_since = self._clock()
        if ready:
            self._start_seconds = self._up_since - self._start_began_at
        self._start_began_at = None

    def schedule(self) -> float:
        """Note that the engine is gone or did not start; return the seconds until the next start (± 20 %)."""
        pause = self._next_pause()
        self._due_at = self._clock() + pause * self._rng.uniform(0.8, 1.2)
        self._next_backoff = min(pause * 2, MAX_BACKOFF_SECONDS)
        self._start_began_at = self._up_since = None
        return pause

    def seconds_left(self) -> float | None:
        """Return in how many whole seconds an engine that is gone, or starts, should serve; None where it never did."""
        if self._start_seconds is None:
            return None
        now = self._clock()
        if self._start_began_at is not None:
            left = self._start_began_at + self._start_seconds - now
        elif self._up_since is not None:  # it died a moment ago and no restart is scheduled yet
            left = self._next_pause() + self._start_seconds
        else:
            left = max(0.0, self._due_at - now) + self._start_seconds
        return float(min(max(math.ceil(left), MIN_RETRY_SECONDS), MAX_RETRY_SECONDS))

    def _next_pause(self) -> float:
        was_healthy = self._up_since is not None and self._clock() - self._up_since > HEALTHY_AFTER_SECONDS
        return self._first_pause if was_healthy else self._next_backoff
