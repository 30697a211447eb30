"""Exponential backoff: growing pauses before restarts."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ExponentialBackoff:
    """Pauses in seconds: ``first``, doubled with each end up to ``longest``.

    A run that served for more than ``healthy_after`` seconds begins again with the first.
    """

    first: float
    longest: float
    healthy_after: float
    # Ends in a row, the last healthy run's included.
    ends: int = field(default=0, init=False)
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.first

    def next_pause(self, served: float | None) -> float:
        """Return the pause after a run that served so long (None: never)."""
        return self.first if self._was_healthy(served) else self._next

    def end(self, served: float | None) -> float:
        """Count the end of such a run; return the pause."""
        pause = self.next_pause(served)
        self.ends = 1 if self._was_healthy(served) else self.ends + 1
        self._next = min(pause * 2, self.longest)
        return pause

    def _was_healthy(self, served: float | None) -> bool:
        return served is not None and served > self.healthy_after
