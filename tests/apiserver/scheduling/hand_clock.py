"""A clock that a test turns by hand."""

from __future__ import annotations


class HandClock:
    """Seconds, monotonic; set ``now``."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now
