"""CircuitBreaker: whether one replica may be asked for one pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from math import exp
from random import Random
from typing import Final

# Opens after so many failures without a success between them: each costs a client a second attempt, a wrong alarm costs
# a replica one second.
CONSECUTIVE_FAILURES: Final = 3
# Or when at least half of the latest requests failed (Hystrix's and Resilience4j's threshold), of at least so many.
FAILURE_RATIO: Final = 0.5
RECENT_REQUESTS: Final = 10
# How long a request counts among the latest: its weight fades to 1/e in this time.
RECENT_SECONDS: Final = 5.0
# Doubles from trial to trial; with jitter, so that replicas that fell together are not tried together.
BACK_OFF_SECONDS: Final = 1.0
LONGEST_BACK_OFF_SECONDS: Final = 30.0
JITTER: Final = 0.2
# A breaker that was closed for so long (the longest back-off) and opens again has new trouble: it starts afresh.
HEALTHY_SECONDS: Final = 30.0
# Good canaries in a row that can be asked for, at most: a second or two.
MAX_CANARIES: Final = 4
# A trial without an outcome for so long no longer keeps others from trying: long beside any short text's answer.
TRIAL_SECONDS: Final = 10.0


class BreakerState(StrEnum):
    """What a breaker lets through: everything, nothing, one trial."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitPermit:
    """Permission to send one request, known by its identity; to be returned once, with the outcome."""

    __slots__ = ("trial",)

    def __init__(self, *, trial: bool) -> None:
        self.trial = trial


@dataclass(eq=False, slots=True)
class CircuitBreaker:
    """The breaker of one replica and pair.

    Mutable state: the latest outcomes while closed, the back-off and the trial while open. Results for permits issued
    before the breaker last opened are ignored, and so are those of a trial that was given up.
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
        """The state now."""
        if self.opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self._clock() < self._retry_at else BreakerState.HALF_OPEN

    def retry_in(self) -> float:
        """Return the seconds until a request or a trial is allowed."""
        if self.opened_at is None:
            return 0.0
        wait_for = self._retry_at
        if self._trial is not None:
            wait_for = max(wait_for, self._trial_at + TRIAL_SECONDS)
        return max(0.0, wait_for - self._clock())

    def acquire(self) -> CircuitPermit | None:
        """Return a permit to send one request; None: the breaker is open, or its one trial is under way."""
        if self.opened_at is None:
            return self._shared_permit
        if self.retry_in() > 0:
            return None
        self._trial = CircuitPermit(trial=True)
        self._trial_at = self._clock()
        return self._trial

    def record_success(self, permit: CircuitPermit) -> None:
        """Note a success of the replica; that of a trial closes it."""
        if permit is self._trial:
            self._close()
        elif permit is self._shared_permit:
            self._consecutive_failures = 0
            self._count(failed=0.0)

    def record_failure(self, permit: CircuitPermit, *, at_once: bool = False) -> None:
        """Note a failure of the replica; ``at_once`` opens the breaker."""
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
        """Return the permit without an outcome: the client left, for example."""
        if permit is self._trial:
            self._trial = None

    def canary_passed(self) -> None:
        """End the back-off: half-open now; after a trial that failed, only with twice as many canaries in a row."""
        if self.opened_at is None or self._clock() >= self._retry_at:
            return
        self._canaries += 1
        if self._canaries >= self._canaries_needed:
            self._half_opened_by_canaries = True
            self._retry_at = self._clock()

    def canary_failed(self) -> None:
        """Restart the row of good canaries; clients' requests alone lengthen a back-off."""
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
        if self._half_opened_by_canaries:
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
