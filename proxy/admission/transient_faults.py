"""Transient faults: requests wait for their end, within a time budget.

For APIs whose clients answer a refusal with silence (docs/decisions/0028-timeouts-and-transient-faults.md).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from proxy.metrics import ProxyMetrics
from shared.protocol.errors import (
    GlossariesUnavailableError,
    KeysUnavailableError,
    OverloadedError,
    PairUnavailableError,
    PairwayError,
    RateLimitedError,
    ReplicaFailedError,
)
from shared.runtime.gc_tuning import drop_tracebacks

T = TypeVar("T")

TRANSIENT_FAULTS: Final = (
    OverloadedError,
    PairUnavailableError,
    KeysUnavailableError,
    GlossariesUnavailableError,
    ReplicaFailedError,
)
# For faults without Retry-After.
DEFAULT_PAUSE_SECONDS: Final = 0.5
# Retry-After is meant for clients that come back; who waits here costs less.
LONGEST_PAUSE_SECONDS: Final = 1.0
# More than the longest budget has pauses.
MAX_RETRIES: Final = 64
# Further requests fail at once; a waiting one takes about 10 KiB and its body.
MAX_WAITING: Final = 256
# A quarter of the default budget of bodies.
MAX_WAITING_BYTES: Final = 8 * 1024 * 1024


def is_transient(error: PairwayError, seconds_left: float) -> bool:
    """Return whether a later attempt may succeed within ``seconds_left``."""
    if isinstance(error, RateLimitedError):
        return error.retry_after is not None and error.retry_after < seconds_left
    return seconds_left > 0 and isinstance(error, TRANSIENT_FAULTS)


def pause_before_retry(error: PairwayError, seconds_left: float, rng: Random) -> float | None:
    """Return the seconds before the next attempt, None without one.

    A limit of requests is waited for if its window ends in time.
    """
    if not is_transient(error, seconds_left):
        return None
    if isinstance(error, RateLimitedError):
        return min(seconds_left, (error.retry_after or 0.0) + rng.random() * LONGEST_PAUSE_SECONDS)
    pause = min(error.retry_after or DEFAULT_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
    return min(seconds_left, pause * rng.uniform(0.5, 1.0))


@dataclass(eq=False, slots=True)
class TransientFaultRetry:
    """Repeater of attempts that met a transient fault; counts who waits."""

    _metrics: ProxyMetrics
    _clock: Callable[[], float]
    _rng: Random
    waiting: int = 0
    waiting_bytes: int = 0

    async def run(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        until: float,
        size: int,
        sleep: Callable[[float], Awaitable[object]],
    ) -> T:
        """Return the first good result of attempts that begin before ``until``.

        ``size``: bytes that the request holds. ``sleep`` raises if nobody waits any more. Raises the last attempt's
        PairwayError.
        """
        try:
            return await attempt()
        except PairwayError as error:
            if pause_before_retry(error, until - self._clock(), self._rng) is None or not self._has_space(size):
                raise
            drop_tracebacks(error)
            failure = error
        outcome = "failed"
        self.waiting += 1
        self.waiting_bytes += size
        try:
            result = await self._retry(failure, attempt, until, sleep)
            outcome = "ok"
        finally:
            self.waiting -= 1
            self.waiting_bytes -= size
            self._metrics.waits.labels(outcome).inc()
        return result

    async def _retry(
        self,
        failure: PairwayError,
        attempt: Callable[[], Awaitable[T]],
        until: float,
        sleep: Callable[[float], Awaitable[object]],
    ) -> T:
        for _ in range(MAX_RETRIES):
            pause = pause_before_retry(failure, until - self._clock(), self._rng)
            if pause is None:
                break
            await sleep(pause)
            try:
                return await attempt()
            except PairwayError as error:
                drop_tracebacks(error)
                failure = error
        raise failure

    def _has_space(self, size: int) -> bool:
        return self.waiting < MAX_WAITING and self.waiting_bytes + size <= MAX_WAITING_BYTES
