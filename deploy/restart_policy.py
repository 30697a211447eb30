"""Restart policy: when a dead server starts again, and when it stays down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shared.runtime.background import ExponentialBackoff
from shared.runtime.exit_codes import EXIT_CONFIG


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """Bounds of restarts, in seconds; a demo engine needs 10 to 20 s to be ready."""

    first_pause: float = 1.0
    longest_pause: float = 30.0
    # A run that was ready for longer than this ends a row of failures.
    healthy_after: float = 60.0
    # Ends in a row until the server stays down.
    max_ends: int = 5


DEFAULT_RESTART_LIMITS = RestartLimits()


class RestartPolicy:
    """Decision about one server after each of its ends."""

    def __init__(self, limits: RestartLimits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Forget all ends, because an operator tries again."""
        self._backoff = ExponentialBackoff(
            self.limits.first_pause, self.limits.longest_pause, self.limits.healthy_after
        )
        self._ready_since: float | None = None

    @property
    def ends(self) -> int:
        """Ends in a row."""
        return self._backoff.ends

    def note_ready(self) -> None:
        """Record that the present run is ready."""
        if self._ready_since is None:
            self._ready_since = self._clock()

    def pause_after_end(self, status: int | None) -> float | None:
        """Return the seconds until the next start; None if it stays down.

        ``status`` is negative for a signal, None if the process could not be started. Wrong settings (exit code 78)
        are final at once.
        """
        served = None if self._ready_since is None else self._clock() - self._ready_since
        self._ready_since = None
        pause = self._backoff.end(served)
        return None if status == EXIT_CONFIG or self.ends >= self.limits.max_ends else pause
