"""CircuitBreaker: excludes one replica for one pair after failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from math import exp
from random import Random
from typing import Final

# Each failure costs a client a second attempt, a false alarm costs a replica one second.
CONSECUTIVE_FAILURES: Final = 3
# The threshold of Hystrix and Resilience4j.
FAILURE_RATIO: Final = 0.5
RECENT_REQUESTS: Final = 10
# A request's weight falls to 1/e in this time.
RECENT_SECONDS: Final = 5.0
# Doubles from trial to trial; jitter separates the trials of replicas that failed together.
BACK_OFF_SECONDS: Final = 1.0
LONGEST_BACK_OFF_SECONDS: Final = 30.0
JITTER: Final = 0.2
# A breaker closed this long starts with the shortest back-off again.
HEALTHY_SECONDS: Final = 30.0
# Four canaries take a second or two.
MAX_CANARIES: Final = 4
# A trial without an outcome blocks another one for this time.
TRIAL_SECONDS: Final = 10.0


class BreakerState(StrEnum):
    """Permits of a breaker: all requests, none, or one trial."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitPermit:
    """Permission to send one request; returned once, with the outcome."""

    __slots__ = ("trial",)

    def __init__(self, *, trial: bool) -> None:
        self.trial = trial


@dataclass(eq=False, slots=True)
class CircuitBreaker:
    """The breaker of one replica and pair.

    It ignores results of replaced trials, and of permits from before it last opened.
    """

    _clock: Callable[[], float]
    _rng: Random
    opened_at: float | None = None
    _closed_at: float = 0.0
    _retry_at: float = 0.0
    _back_off: float = 0.0
    _shared_permit: CircuitPermit = field(default_factory=lambda: CircuitPermit(trial=False))
    _trial: CircuitPermit | None = None
    _trial_at: float = 0.0
    _consecutive_failures: int = 0
    _recent_requests: float = 0.0
    _recent_failures: float = 0.0
    _counted_at: float = 0.0
    _canaries: int = 0
    _canaries_needed: int = 1
    _half_opened_by_canaries: bool = False

    def __post_init__(self) -> None:
        self._closed_at = self._clock()

    @property
    def state(self) -> BreakerState:
        """The current state."""
        if self.opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self._clock() < self._retry_at else BreakerState.HALF_OPEN

    def retry_in(self) -> float:
        """Return the seconds until a permit is available."""
        if self.opened_at is None:
            return 0.0
        wait_for = self._retry_at
        if self._trial is not None:
            wait_for = max(wait_for, self._trial_at + TRIAL_SECONDS)
        return max(0.0, wait_for - self._clock())

    def acquire(self) -> CircuitPermit | None:
        """Return a permit, or None."""
        if self.opened_at is None:
            return self._shared_permit
        if self.retry_in() > 0:
            return None
        self._trial = CircuitPermit(trial=True)
        self._trial_at = self._clock()
        return self._trial

    def record_success(self, permit: CircuitPermit) -> None:
        """Record a success; a trial's success closes the breaker."""
        if permit is self._trial:
            self._close()
        elif permit is self._shared_permit:
            self._consecutive_failures = 0
            self._count(failed=0.0)

    def record_failure(self, permit: CircuitPermit, *, at_once: bool = False) -> None:
        """Record a failure; ``at_once`` opens the breaker."""
        if permit is self._trial:
            self._open()
        elif permit is self._shared_permit:
            self._consecutive_failures += 1
            self._count(failed=1.0)
            recent = self._recent_requests
            mostly = recent >= RECENT_REQUESTS and self._recent_failures >= FAILURE_RATIO * recent
            if at_once or mostly or self._consecutive_failures >= CONSECUTIVE_FAILURES:
                self._open()

    def release(self, permit: CircuitPermit) -> None:
        """Return a permit without an outcome."""
        if permit is self._trial:
            self._trial = None

    def canary_passed(self) -> None:
        """Count a good canary; enough end the back-off."""
        if self.opened_at is None or self._clock() >= self._retry_at:
            return
        self._canaries += 1
        if self._canaries >= self._canaries_needed:
            self._half_opened_by_canaries = True
            self._retry_at = self._clock()

    def canary_failed(self) -> None:
        """Restart the count of good canaries."""
        self._canaries = 0

    def _count(self, failed: float) -> None:
        now = self._clock()
        kept = exp((self._counted_at - now) / RECENT_SECONDS)
        self._recent_requests = self._recent_requests * kept + 1
        self._recent_failures = self._recent_failures * kept + failed
        self._counted_at = now

    def _open(self) -> None:
        now = self._clock()
        if self.opened_at is None:
            self.opened_at = now
            if now - self._closed_at >= HEALTHY_SECONDS:
                self._back_off = 0.0
                self._canaries_needed = 1
                self._half_opened_by_canaries = False
        if self._half_opened_by_canaries:  # the canaries misled, so the next time more are needed
            self._canaries_needed = min(MAX_CANARIES, 2 * self._canaries_needed)
        self._half_opened_by_canaries = False
        self._canaries = 0
        self._trial = None
        self._shared_permit = CircuitPermit(trial=False)
        self._back_off = min(LONGEST_BACK_OFF_SECONDS, 2 * self._back_off or BACK_OFF_SECONDS)
        self._retry_at = now + self._back_off * self._rng.uniform(1 - JITTER, 1 + JITTER)

    def _close(self) -> None:
        self.opened_at = None
        self._closed_at = self._clock()
        self._trial = None
        self._consecutive_failures = 0
        self._recent_requests = self._recent_failures = 0.0
