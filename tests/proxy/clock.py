"""A clock for tests of the pure parts."""

from __future__ import annotations


class HandClock:
    """Monotonic seconds that pass by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
