"""Restarts: when a model's engine is started next, and in how many seconds its pairs should be served again."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Final

MAX_BACKOFF_SECONDS: Final = 30.0
# An engine that served this long was well: its next restart begins with the short pause again.
WELL_AFTER_SECONDS: Final = 60.0
# What is told is a whole number of seconds within these: a start that takes longer is asked about again meanwhile.
SHORTEST_TOLD_SECONDS: Final = 1
LONGEST_TOLD_SECONDS: Final = 60


class RestartBackoff:
    """One model's starts on an injected clock; mutable state: what comes next, and how long the last one took."""

    def __init__(self, backoff: float, clock: Callable[[], float], rng: Random) -> None:
        """Take the first pause in seconds; the first start is due at once."""
        self._first = self._backoff = backoff
        self._clock = clock
        self._rng = rng
        self._due = clock()
        self._began: float | None = None
        self._took: float | None = None
        self._up_since: float | None = None

    def __repr__(self) -> str:
        """Show the next pause and how long the last start took."""
        return f"<Restarts backoff={self._backoff:g} s, last start took {self._took} s>"

    @property
    def due(self) -> bool:
        """Whether the pause before the next start is over."""
        return self._clock() >= self._due

    @property
    def under_way(self) -> bool:
        """Whether a start has begun whose canaries are not yet through."""
        return self._began is not None

    def begin(self) -> None:
        """Note that a start begins now."""
        self._began = self._clock()

    def end(self, *, ready: bool) -> None:
        """Note that the canaries of the start under way are through; ``ready``: for at least one pair with success."""
        if self._began is None:
            return
        self._up_since = self._clock()
        if ready:
            self._took = self._up_since - self._began
        self._began = None

    def put_off(self) -> float:
        """Note that the engine is gone or did not start; return the seconds until the next start (± 20 %)."""
        pause = self._next_pause()
        self._due = self._clock() + pause * self._rng.uniform(0.8, 1.2)
        self._backoff = min(pause * 2, MAX_BACKOFF_SECONDS)
        self._began = self._up_since = None
        return pause

    def seconds_left(self) -> float | None:
        """Return in how many whole seconds an engine that is gone, or starts, should serve; None where it never did."""
        if self._took is None:
            return None
        now = self._clock()
        if self._began is not None:
            left = self._began + self._took - now
        elif self._up_since is not None:  # it died a moment ago and has not been put off yet
            left = self._next_pause() + self._took
        else:
            left = max(0.0, self._due - now) + self._took
        return float(min(max(math.ceil(left), SHORTEST_TOLD_SECONDS), LONGEST_TOLD_SECONDS))

    def _next_pause(self) -> float:
        was_well = self._up_since is not None and self._clock() - self._up_since > WELL_AFTER_SECONDS
        return self._first if was_well else self._backoff
