"""The one clock of tests: seconds that pass by hand."""

from __future__ import annotations


class HandClock:
    """Seconds, monotonic or of the calendar, as a test sets ``now``."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
